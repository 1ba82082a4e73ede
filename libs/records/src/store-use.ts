import type { Database } from './database';
import { folderBytes, ScreenshotFolder } from './screenshots';
import type { StoreUse } from './views';

/** Where the screenshots of an embedded database are kept. */
export function screenshotFolder(dataDir: string): ScreenshotFolder {
  return new ScreenshotFolder(`${dataDir}-screenshots`);
}

/** The storage that an embedded database and its screenshots take up. Reads no database. */
export async function embeddedUse(dataDir: string): Promise<StoreUse> {
  const [recordBytes, screenshotBytes] = await Promise.all([
    folderBytes(dataDir),
    screenshotFolder(dataDir).size(),
  ]);
  return { location: dataDir, recordBytes, screenshotBytes };
}

/** The storage that a PostgreSQL server uses for the records; their screenshots are elsewhere. */
export async function serverUse({ dataSource, location }: Database): Promise<StoreUse> {
  const [{ bytes }] = await dataSource.query<{ bytes: string }[]>(
    'SELECT pg_database_size(current_database()) AS bytes',
  );
  return { location, recordBytes: Number(bytes), screenshotBytes: null };
}
