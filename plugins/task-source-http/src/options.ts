import { Doc, Fits, TaskDefaults } from '@ui-rl/plugin-kit';
import { IsInt, IsOptional, Max, Min } from 'class-validator';

export class HttpOptions extends TaskDefaults {
  @Doc(
    'address of the list, http://host:port/tasks?split=train: TASK_SERVERS must allow it; without that, the server must be on this machine',
  )
  @Fits('an address such as http://host:8000/tasks, without user, password and fragment', isListAddress)
  url: string;

  @Doc('required version of the list, an ETag of the server; default: any')
  @IsOptional()
  @Fits('an ETag such as "v7", with or without its quotes', isVersion)
  etag?: string;

  @Doc('maximum size of the list, in MiB')
  @IsInt()
  @Min(1)
  @Max(65_536)
  max_mb = 1024;
}

function isListAddress(value: unknown): boolean {
  return (
    typeof value === 'string' && /^https?:\/\/[^\s/?#@]+([/?][^\s#]*)?$/.test(value) && URL.canParse(value)
  );
}

function isVersion(value: unknown): boolean {
  return typeof value === 'string' && /^(W\/)?("[\x21\x23-\x7e]+"|[\x21\x23-\x7e]+)$/.test(value);
}
