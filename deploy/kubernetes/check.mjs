// Renders every kustomization and checks each object against the schema of its API: unknown fields, wrong types,
// missing fields.
//   npm run manifests [-- --schemas FOLDER]
// Needs kubectl. Schemas are downloaded (schemas.json) and cached in .cache/kubernetes-schemas; --schemas names a
// folder that already has them.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse, parseAllDocuments } from 'yaml';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');
const { values } = parseArgs({ options: { schemas: { type: 'string' } } });
const folder =
  values.schemas === undefined ? join(root, '.cache', 'kubernetes-schemas') : resolve(values.schemas);
const sources = JSON.parse(readFileSync(join(here, 'schemas.json'), 'utf8'));
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });

/** Folders with a kustomization that is applied directly. */
function kustomizations() {
  return [here, join(root, 'deploy', 'gcp')]
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    )
    .filter((file) => basename(file) === 'kustomization.yaml')
    .map(dirname)
    .toSorted((a, b) => a.localeCompare(b));
}

function render(kustomization) {
  const { status, stdout, stderr, error } = spawnSync('kubectl', ['kustomize', kustomization], {
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  if (error !== undefined)
    throw new Error(`kubectl, which renders the manifests, cannot be started: ${error.message}`);
  if (status !== 0) throw new Error(`${relative(root, kustomization)} cannot be rendered: ${stderr.trim()}`);
  return parseAllDocuments(stdout).map((document) => document.toJS());
}

/** The text of a schema by name; downloaded if the folder does not have it. */
async function schemaText(name, url) {
  const path = join(folder, name);
  if (existsSync(path)) return readFileSync(path, 'utf8');
  if (values.schemas !== undefined) return null;
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000) }).catch((error) => {
    const reason = error.cause?.message ?? error.message;
    throw new Error(`${url} cannot be fetched: ${reason}. --schemas FOLDER reads the schemas from a folder`);
  });
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  const text = await response.text();
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, text);
  return text;
}

/** An API rejects unknown fields, unless its schema allows them. */
function closed(schema) {
  if (schema === null || typeof schema !== 'object') return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const { properties, items, additionalProperties } = schema;
  const result = { ...schema };
  if (items !== undefined) result.items = closed(items);
  if (typeof additionalProperties === 'object') result.additionalProperties = closed(additionalProperties);
  if (properties === undefined) return result;
  result.properties = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, closed(property)]),
  );
  if (additionalProperties === undefined && schema['x-kubernetes-preserve-unknown-fields'] !== true)
    result.additionalProperties = false;
  return result;
}

/** Validators of custom resource kinds, by `group/version kind`. */
async function definedKinds() {
  const kinds = new Map();
  for (const url of sources.definitions) {
    const text = await schemaText(basename(url), url);
    if (text === null) throw new Error(`there is no ${basename(url)} in ${folder}`);
    const { group, names, versions } = parse(text).spec;
    for (const { name, schema } of versions) {
      const { properties, ...others } = schema.openAPIV3Schema;
      const own = {
        ...properties,
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { type: 'object' },
      };
      kinds.set(`${group}/${name} ${names.kind}`, ajv.compile(closed({ ...others, properties: own })));
    }
  }
  return kinds;
}

const builtIn = new Map();

/** Validator of a built-in kind; null if it does not exist. */
async function validatorOf({ apiVersion, kind }) {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const name = [kind, ...(group === '' ? [] : [group.split('.')[0]]), version].join('-').toLowerCase();
  if (!builtIn.has(name)) {
    const text = await schemaText(`${name}.json`, `${sources.kubernetes}${name}.json`);
    builtIn.set(name, text === null ? null : ajv.compile(JSON.parse(text)));
  }
  return builtIn.get(name);
}

async function main() {
  const shared = join(folder, '_definitions.json');
  if (existsSync(shared)) ajv.addSchema(JSON.parse(readFileSync(shared, 'utf8')), '_definitions.json');
  const defined = await definedKinds();
  for (const kustomization of kustomizations()) {
    const objects = render(kustomization);
    for (const object of objects) {
      const { apiVersion, kind, metadata } = object;
      const validate = defined.get(`${apiVersion} ${kind}`) ?? (await validatorOf(object));
      for (const problem of problemsOf(object, validate)) {
        process.exitCode = 1;
        console.error(`${relative(root, kustomization)}: ${kind} ${metadata?.name}: ${problem}`);
      }
    }
    console.log(`${relative(root, kustomization)}: ${objects.length} objects`);
  }
}

function problemsOf(object, validate) {
  if (validate === null) return [`there is no schema of ${object.apiVersion} ${object.kind}`];
  if (validate(object)) return [];
  return validate.errors.map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
