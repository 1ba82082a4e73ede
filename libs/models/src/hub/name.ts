/** A model on the hub. */
export interface HubModel {
  /** organisation/name */
  id: string;
  /** branch, tag or commit */
  revision: string;
}

const part = '[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?';
const hubName = new RegExp(`^(${part}/${part})(?:@([^@\\s]+))?$`);
const defaultRevision = 'main';

/** Parses `organisation/name` or `organisation/name@revision`; undefined for a name that can only be a path. */
export function parseHubName(name: string): HubModel | undefined {
  const [, id, revision = defaultRevision] = hubName.exec(name) ?? [];
  if (id === undefined || /--|\.\./.test(id)) return undefined;
  const segments = revision.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) return undefined;
  return { id, revision };
}

/** The name that permanently identifies this commit of a hub model. */
export function pinnedName(name: string, commit: string | undefined): string {
  return commit === undefined ? name : `${name.replace(/@.*/, '')}@${commit}`;
}

/** Whether a revision is a full commit id, which never changes. */
export function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision);
}

/** The model and commit of a snapshot folder in the hub's cache; undefined for other folders. */
export function hubModelOf(dir: string): HubModel | undefined {
  const [, name, commit] = /[/\\]models--([^/\\]+)[/\\]snapshots[/\\]([0-9a-f]{40})[/\\]?$/.exec(dir) ?? [];
  return name === undefined ? undefined : parseHubName(`${name.replace('--', '/')}@${commit}`);
}
