import type { Check, Task } from '@ui-rl/contracts';
import { TryFailure } from './failure';
import { PROPOSAL_KINDS, type Proposal, type ProposalKind } from './propose';
import type { CheckVerdict } from './verify-task';
import type { ShownProposal } from './view';

/** Parses `--checks`: all kinds, or some. @throws TryFailure for an unknown kind */
export function readKinds(text: string): readonly ProposalKind[] {
  if (text === 'all') return PROPOSAL_KINDS;
  const kinds = text.split(',').map((kind) => kind.trim());
  const unknown = kinds.find((kind) => !(PROPOSAL_KINDS as readonly string[]).includes(kind));
  if (unknown !== undefined)
    throw new TryFailure(
      `--checks: there is no kind of check "${unknown}": expected all, or some of ${PROPOSAL_KINDS.join(', ')}`,
    );
  return kinds as ProposalKind[];
}

/** Proposals with the verdicts of a replay and of an episode without actions. */
export function judged(proposals: readonly Proposal[], verdicts: readonly CheckVerdict[]): ShownProposal[] {
  const preset = new Set<ProposalKind>();
  return proposals.map(({ kind, words, isLikely }, id) => {
    const refused = refusalOf(verdicts[id]);
    const isPreset = isLikely && refused === null && !isToldAlready(kind, preset);
    if (isPreset) preset.add(kind);
    return { id, kind, words, isLikely: isPreset, refused };
  });
}

/** A state that the page publishes itself makes checks on storage and globals redundant. */
function isToldAlready(kind: ProposalKind, preset: ReadonlySet<ProposalKind>): boolean {
  return (kind === 'storage' || kind === 'expression') && preset.has('state');
}

/** Why a condition that held only after the recorded episode is not a check. */
export const ANOTHER_EACH_TIME = 'it does not hold when the same is done again: it is another one each time';

function refusalOf({ holdsAfter, holdsWithout }: CheckVerdict): string | null {
  if (holdsWithout)
    return 'it holds without doing anything: it already passes at some starts, or the server of the page keeps what was done';
  if (!holdsAfter) return ANOTHER_EACH_TIME;
  return null;
}

/** The checks of the picked proposals. @throws TryFailure that says why a proposal cannot be a check */
export function picked(
  proposals: readonly Proposal[],
  shown: readonly ShownProposal[],
  ids: readonly number[],
): Check[] {
  if (ids.length === 0)
    throw new TryFailure('pick one check at least: without checks, success cannot be judged');
  return ids.map((id) => {
    const proposal = shown.find((each) => each.id === id);
    if (proposal === undefined) throw new TryFailure(`there is no check ${id}`);
    if (proposal.refused !== null)
      throw new TryFailure(`“${proposal.words}” cannot be a check: ${proposal.refused}`);
    return proposals[id].check;
  });
}

/** Proposals of the given kinds that can be picked. @throws TryFailure that names the kinds if there are none */
export function ofKinds(shown: readonly ShownProposal[], kinds: readonly ProposalKind[]): number[] {
  const usable = shown.filter(({ refused }) => refused === null);
  if (kinds.length < PROPOSAL_KINDS.length) {
    for (const kind of kinds)
      if (!usable.some((each) => each.kind === kind)) throw new TryFailure(noneOf(kind, shown, usable));
  }
  return usable.filter(({ kind }) => kinds.includes(kind as ProposalKind)).map(({ id }) => id);
}

function noneOf(kind: string, shown: readonly ShownProposal[], usable: readonly ShownProposal[]): string {
  const refused = shown.find((each) => each.kind === kind);
  const why =
    refused === undefined ? 'nothing of that kind has changed' : `“${refused.words}”: ${refused.refused}`;
  const others = [...new Set(usable.map((each) => each.kind))];
  return `no check of kind ${kind} can be made: ${why}. There are: ${others.join(', ') || 'none'}`;
}

/** Turn limit of an episode: twice the person's actions, because an agent makes mistakes. */
export function maxSteps(actions: number): number {
  return 2 * actions + 1;
}

/** A name for files and ids, derived from a sentence. */
export function slugOf(sentence: string): string {
  const slug = sentence
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 48)
    .replace(/-$/, '');
  return slug === '' ? 'task' : slug;
}

export type CheckedTask = Task & { id: string; checks: Check[]; maxSteps: number };
