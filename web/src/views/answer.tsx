// The answer in one sentence, its key figures, and how far to trust it.
import type { ComponentChildren } from 'preact';
import type { Estimate, Plan, PlanAnswer } from '../state/answer.ts';
import { getAt } from '../state/json.ts';
import { formatFlops, formatGib, formatPercent, formatSeconds, formatShort, formatTokensPerSecond, formatCount } from '../state/format.ts';
import { hasMessage, t } from '../i18n/index.ts';
import { figuresSentence, layoutLabel, methodsLabel } from './labels.ts';

const number = (root: unknown, pointer: string): number => {
  const value = getAt(root, pointer);
  return typeof value === 'number' ? value : 0;
};

function headline(answer: PlanAnswer): string {
  const key = `answer.best.${String(answer.request.objective)}`;
  return hasMessage(key) ? t(key) : t('answer.fastest');
}

/** The verdict as plain text: for the live region, links and copies. */
export function verdictText(answer: PlanAnswer): string {
  const best = answer.plans[0];
  if (!best) return t('answer.nothingFits');
  return `${headline(answer)}: ${layoutLabel(best.strategy)}, ${methodsLabel(best.strategy)}: ${figuresSentence(best.estimate)}`;
}

function Card({ label, value, unit, note, children }: { label: string; value: string; unit?: string; note?: string; children?: ComponentChildren }) {
  return (
    <div class="card">
      <dt>{label}</dt>
      <dd>
        <span class="card-value">
          {value}
          {unit && <small> {unit}</small>}
        </span>
        {children}
        {note && <span class="card-note">{note}</span>}
      </dd>
    </div>
  );
}

function Meter({ fraction }: { fraction: number }) {
  return (
    <svg class={fraction > 1 ? 'meter over' : 'meter'} width="100%" height="6" aria-hidden="true" focusable="false">
      <rect class="track" width="100%" height="6" rx="3" />
      <rect class="fill" width={`${Math.min(100, fraction * 100).toFixed(2)}%`} height="6" rx="3" />
    </svg>
  );
}

const split = (text: string): [string, string] => {
  const at = text.lastIndexOf('\u00a0');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
};

function Figures({ answer, estimate }: { answer: PlanAnswer; estimate: Estimate }) {
  const { request } = answer;
  const [step, stepUnit] = split(formatSeconds(estimate.stepSeconds));
  const tokens = number(request, '/job/sequenceLength') * number(request, '/job/globalBatchSequences');
  const peaks = '/cluster/accelerator/matrixFlopsPerSecond';
  const peak = number(request, `${peaks}/bf16`) || number(request, `${peaks}/fp16`);
  const { peakBytes, capacityBytes, peakStage } = estimate.memory;
  const free = capacityBytes - peakBytes;
  return (
    <dl class="cards">
      <Card label={t('answer.step')} value={step} unit={stepUnit} note={t('answer.stepNote', { tokens: formatShort(tokens) })} />
      <Card
        label={t('answer.tokens')}
        value={formatTokensPerSecond(estimate.tokensPerSecondPerDevice)}
        note={t('answer.tokensNote', { all: formatShort(estimate.tokensPerSecondPerDevice * number(request, '/cluster/devices')) })}
      />
      <Card
        label={t('answer.mfu')}
        value={formatPercent(estimate.modelFlopsUtilization).replace('\u00a0%', '')}
        unit="%"
        note={peak > 0 ? t('answer.mfuNote', { peak: formatFlops(peak) }) : undefined}
      />
      <Card
        label={t('answer.memory')}
        value={formatGib(peakBytes)}
        unit={`of ${formatGib(capacityBytes)} GiB`}
        note={
          free >= 0
            ? t('answer.memoryNote', { stage: peakStage, free: formatGib(free) })
            : t('answer.memoryOver', { stage: peakStage, over: formatGib(-free) })
        }
      >
        <Meter fraction={peakBytes / capacityBytes} />
      </Card>
    </dl>
  );
}

function lead(plans: Plan[]): string {
  const [best, next] = plans;
  if (!best || !next) return '';
  const gap = next.estimate.stepSeconds / best.estimate.stepSeconds - 1;
  return gap < 0.0005 ? t('answer.leadTie') : t('answer.lead', { percent: formatPercent(gap) });
}

export function Sureness({ estimate }: { estimate: Estimate }) {
  const error = estimate.expectedError;
  const text = !error
    ? t('answer.noExpected')
    : error.extrapolated
      ? t('answer.extrapolated', { basis: error.basis })
      : t('answer.expected', { p50: formatPercent(error.p50Fraction, 0), p90: formatPercent(error.p90Fraction, 0), basis: error.basis });
  return <p class="sure">{text}</p>;
}

interface VerdictProps {
  answer: PlanAnswer | undefined;
  stale: boolean;
  children?: ComponentChildren;
}

export function Verdict({ answer, stale, children }: VerdictProps) {
  if (!answer) return <VerdictFrame title={t('answer.starting')} />;
  const best = answer.plans[0];
  if (!best) {
    return (
      <VerdictFrame title={t('answer.nothingFits')} stale={stale} bad>
        <p class="verdict-text">
          {t('answer.nothingFitsLong', {
            raw: formatCount(answer.search.rawSpace),
            capacity: `${formatGib(number(answer.request, '/cluster/accelerator/memoryBytes') * (number(answer.request, '/limits/memoryFraction') || 1))} GiB`,
          })}
        </p>
        {children}
      </VerdictFrame>
    );
  }
  return (
    <VerdictFrame title={headline(answer)} stale={stale}>
      <p class="verdict-layout">
        {layoutLabel(best.strategy)
          .split(' · ')
          .map((part) => (
            <span class="degree">{part}</span>
          ))}
      </p>
      <p class="verdict-text">
        {methodsLabel(best.strategy)}: {figuresSentence(best.estimate)} {lead(answer.plans)}
      </p>
      <Figures answer={answer} estimate={best.estimate} />
      {children}
      <Sureness estimate={best.estimate} />
      <p class="sure">{t('answer.mfuConvention')}</p>
      {answer.search.complete === false && <p class="warn">{t('answer.incomplete')}</p>}
      <Notes answer={answer} />
    </VerdictFrame>
  );
}

function Notes({ answer }: { answer: PlanAnswer }) {
  const notes = answer.issues.filter((issue) => issue.severity !== 'error');
  if (notes.length === 0) return null;
  return (
    <ul class="notes" aria-label={t('answer.notes')}>
      {notes.map((issue) => (
        <li class={issue.severity}>{issue.message}</li>
      ))}
    </ul>
  );
}

function VerdictFrame({ title, stale, bad, children }: { title: string; stale?: boolean; bad?: boolean; children?: ComponentChildren }) {
  return (
    <section class={`panel verdict${stale ? ' stale' : ''}${bad ? ' bad' : ''}`} aria-labelledby="answer-title" id="answer" tabIndex={-1}>
      <h2 id="answer-title">{title}</h2>
      {children ?? <div class="placeholder" />}
    </section>
  );
}

