import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

export const root = resolve(__dirname, '../..');

/** A TypeScript file of the repository, parsed. */
export function parsed(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
}

/** The sources below a folder of the repository, without specs. */
export function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => join(folder, file))
    .toSorted();
}

/** The doc comment of a declaration as one paragraph of text. */
export function docOf(node: ts.Node): string {
  const docs = ts.getJSDocCommentsAndTags(node).filter((each) => ts.isJSDoc(each));
  const text = ts.getTextOfJSDocComment(docs.at(-1)?.comment) ?? '';
  return text
    .replaceAll(/\{@link\s+([^}]+)\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

export interface Field {
  name: string;
  type: string;
  optional: boolean;
  doc: string;
}

/** Declared fields of a class or interface. */
export function fieldsOf(node: ts.ClassDeclaration | ts.InterfaceDeclaration): Field[] {
  const members: readonly ts.Node[] = node.members;
  return members
    .filter((member) => ts.isPropertyDeclaration(member) || ts.isPropertySignature(member))
    .map((member) => ({
      name: member.name.getText(),
      type: (member.type?.getText() ?? '').replaceAll(/\s+/g, ' '),
      optional: member.questionToken !== undefined,
      doc: docOf(member),
    }));
}

/** Every node of a tree that matches the predicate. */
export function nodes<T extends ts.Node>(tree: ts.Node, test: (node: ts.Node) => node is T): T[] {
  const found: T[] = [];
  const visit = (node: ts.Node): void => {
    if (test(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}
