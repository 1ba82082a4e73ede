const MAX_CHARACTERS = 250;

/**
 * A valid MLflow name for metrics and parameters: letters, digits and `_ - . / space :`, as a path without empty
 * parts, `.` and `..`. Valid names are unchanged. Source: `_validate_metric_name` in MLflow's
 * `mlflow/utils/validation.py`.
 */
export function acceptedName(name: string): string {
  const written = name.replace(/[^\p{L}\p{N}_\-. /:]/gu, '_').slice(0, MAX_CHARACTERS);
  const parts = written.split('/').filter((part) => !['', '.', '..'].includes(part));
  return parts.join('/') || '_';
}
