// "Why not this one?": any layout, and the rule it breaks, the memory it lacks, or the seconds it loses.
import { useEffect, useState } from 'preact/hooks';
import { issuesIn, type ExplainAnswer, type Issue, type Plan, type Strategy } from '../state/answer.ts';
import { recomputes, schedules } from '../state/fields.ts';
import { isObject, type JsonObject } from '../state/json.ts';
import { parseQuantity } from '../state/quantity.ts';
import { formatGib, formatPercent, formatSeconds, formatTokensPerSecond } from '../state/format.ts';
import { t, type MessageKey } from '../i18n/index.ts';
import { degreesLabel, labelled, memoryLabel, methodsLabel, termLabel, terms } from './labels.ts';
import { MemoryBreakdown } from './details.tsx';

const degrees = [
  ['tensor', 'degree.tensor'],
  ['pipeline', 'degree.pipeline'],
  ['data', 'degree.data'],
  ['context', 'degree.context'],
  ['expert', 'degree.expert'],
  ['expertTensor', 'degree.expertTensor'],
  ['virtualStages', 'degree.virtualStages'],
  ['microBatchSequences', 'degree.microBatch'],
] as const satisfies readonly (readonly [string, MessageKey])[];

type DegreeName = (typeof degrees)[number][0];

/** The form as typed. */
export interface Asked {
  degrees: Record<DegreeName, string>;
  recompute: string;
  zeroStage: string;
  schedule: string; // '' = automatic
  sequenceParallel: boolean;
  contextKind: string;
  /** What a filled-in plan says beyond the form: placement, layers of the end stages, shard group and the like. */
  rest: JsonObject;
}

export const emptyAsked: Asked = {
  degrees: { tensor: '8', pipeline: '4', data: '', context: '1', expert: '1', expertTensor: '1', virtualStages: '1', microBatchSequences: '1' },
  recompute: 'none',
  zeroStage: '1',
  schedule: '',
  sequenceParallel: true,
  contextKind: 'ring',
  rest: {},
};

const carried = new Set(['placement', 'firstStageLayers', 'lastStageLayers', 'fsdpGroup', 'recomputeModules', 'recomputeLayers', 'offloadActivations']);

export function askedFrom(strategy: Partial<Strategy> | JsonObject): Asked {
  const number = (key: string, fallback: string): string => {
    const value = (strategy as JsonObject)[key];
    return typeof value === 'number' ? String(value) : fallback;
  };
  const s = strategy as JsonObject;
  return {
    degrees: Object.fromEntries(degrees.map(([key]) => [key, number(key, key === 'data' ? '' : '1')])) as Record<DegreeName, string>,
    recompute: typeof s.recompute === 'string' ? s.recompute : 'none',
    zeroStage: number('zeroStage', '1'),
    schedule: typeof s.schedule === 'string' && number('pipeline', '1') !== '1' ? s.schedule : '',
    sequenceParallel: s.sequenceParallel === true,
    contextKind: s.contextKind === 'allToAll' ? 'allToAll' : 'ring',
    rest: Object.fromEntries(Object.entries(s).filter(([key]) => carried.has(key))),
  };
}

interface Question {
  strategy: JsonObject | undefined;
  errors: Partial<Record<DegreeName, string>>;
}

function readAsked(asked: Asked): Question {
  const strategy: JsonObject = {
    ...asked.rest,
    contextKind: asked.contextKind,
    recompute: asked.recompute,
    zeroStage: Number(asked.zeroStage),
    schedule: asked.schedule || null,
    sequenceParallel: asked.sequenceParallel,
  };
  const errors: Question['errors'] = {};
  for (const [key] of degrees) {
    const text = asked.degrees[key];
    if (key === 'data' && text.trim() === '') continue;
    const parsed = parseQuantity(text, 'count');
    if (parsed.ok) strategy[key] = parsed.value;
    else errors[key] = t(`parse.${parsed.reason}`);
  }
  return { strategy: Object.keys(errors).length === 0 ? strategy : undefined, errors };
}

interface WhyNotProps {
  asked: Asked;
  setAsked: (asked: Asked) => void;
  chosen: { plan: Plan; rank: number } | undefined;
  explain: (strategy: JsonObject) => Promise<unknown>;
  request: unknown; // a new one makes an old explanation stale
}

export function WhyNot({ asked, setAsked, chosen, explain, request }: WhyNotProps) {
  const [answer, setAnswer] = useState<unknown>(undefined);
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState(false);
  const question = readAsked(asked);
  const refused = issuesIn(answer).filter((issue) => issue.severity === 'error');

  useEffect(() => setAnswer(undefined), [request]);

  const submit = (event: Event): void => {
    event.preventDefault();
    setTried(true);
    if (!question.strategy) return;
    setBusy(true);
    explain(question.strategy)
      .then(setAnswer, () => undefined) // a crash is reported by the page
      .finally(() => setBusy(false));
  };
  const set = (part: Partial<Asked>): void => {
    setAnswer(undefined);
    setAsked({ ...asked, ...part });
  };
  const errorOf = (key: DegreeName): string | undefined =>
    (tried || asked.degrees[key].trim() !== '' ? question.errors[key] : undefined) ?? refused.find((issue) => issue.path === `/strategy/${key}`)?.message;

  return (
    <section class="panel" aria-labelledby="why-title" id="why">
      <h2 id="why-title">{t('why.title')}</h2>
      <p class="lead">{t('why.lead')}</p>
      <form class="why-form" onSubmit={submit} aria-labelledby="why-title">
        <div class="degrees">
          {degrees.map(([key, label]) => {
            const error = errorOf(key);
            const id = `why-${key}`;
            return (
              <div class="field">
                <div class="field-label">
                  <label for={id}>{t(label)}</label>
                </div>
                <div class="input-wrap">
                  <input
                    id={id}
                    type="text"
                    inputMode="decimal"
                    autocomplete="off"
                    placeholder={key === 'data' ? 'auto' : undefined}
                    value={asked.degrees[key]}
                    aria-invalid={error ? 'true' : undefined}
                    aria-describedby={`${id}-note`}
                    onInput={(event) => set({ degrees: { ...asked.degrees, [key]: event.currentTarget.value }, rest: {} })}
                  />
                </div>
                <p class="field-note" id={`${id}-note`}>
                  {error ? <span class="error">{error}</span> : key === 'data' ? t('why.dataAuto') : ''}
                </p>
              </div>
            );
          })}
          <div class="field">
            <div class="field-label">
              <label for="why-recompute">{t('why.recompute')}</label>
            </div>
            <select id="why-recompute" value={asked.recompute} onChange={(event) => set({ recompute: event.currentTarget.value, rest: {} })}>
              {recomputes.map((value) => (
                <option value={value}>{labelled('recompute', value)}</option>
              ))}
            </select>
          </div>
          <div class="field">
            <div class="field-label">
              <label for="why-zero">{t('why.zero')}</label>
            </div>
            <select id="why-zero" value={asked.zeroStage} onChange={(event) => set({ zeroStage: event.currentTarget.value })}>
              {['0', '1', '2', '3'].map((value) => (
                <option value={value}>{value}</option>
              ))}
            </select>
          </div>
          <div class="field">
            <div class="field-label">
              <label for="why-schedule">{t('why.schedule')}</label>
            </div>
            <select id="why-schedule" value={asked.schedule} onChange={(event) => set({ schedule: event.currentTarget.value })}>
              <option value="">{t('why.scheduleAuto')}</option>
              {schedules.map((value) => (
                <option value={value}>{labelled('schedule', value)}</option>
              ))}
            </select>
          </div>
          <div class="field">
            <div class="field-label">
              <label for="why-context-kind">{t('why.contextKind')}</label>
            </div>
            <select id="why-context-kind" value={asked.contextKind} onChange={(event) => set({ contextKind: event.currentTarget.value })}>
              {(['ring', 'allToAll'] as const).map((value) => (
                <option value={value}>{t(`contextKind.${value}`)}</option>
              ))}
            </select>
          </div>
          <div class="field field-switch">
            <label for="why-sp">
              <input id="why-sp" type="checkbox" checked={asked.sequenceParallel} onChange={(event) => set({ sequenceParallel: event.currentTarget.checked })} />
              <span>{t('why.sequenceParallel')}</span>
            </label>
          </div>
        </div>
        <div class="actions">
          <button type="submit" class="primary" aria-disabled={busy}>
            {t('why.ask')}
          </button>
          {chosen && (
            <button type="button" onClick={() => set(askedFrom(chosen.plan.strategy))}>
              {t('why.fill', { rank: chosen.rank + 1 })}
            </button>
          )}
        </div>
      </form>
      <div class="why-answer" role="status" aria-busy={busy}>
        {answer !== undefined && <Explanation answer={answer} />}
      </div>
    </section>
  );
}

const isExplanation = (answer: unknown): answer is ExplainAnswer => isObject(answer) && typeof answer.verdict === 'string' && isObject(answer.strategy);

const List = ({ issues }: { issues: Issue[] }) => (
  <ul class="reasons">
    {issues.map((issue) => (
      <li>{issue.message}</li>
    ))}
  </ul>
);

function Explanation({ answer }: { answer: unknown }) {
  if (!isExplanation(answer)) {
    return (
      <div class="why-result bad">
        <h3>{t('why.failed')}</h3>
        <List issues={issuesIn(answer)} />
      </div>
    );
  }
  const { verdict, strategy, estimate, rules, memory, comparison, best, rank } = answer;
  const good = verdict === 'best' || verdict === 'listed';
  return (
    <div class={`why-result ${good ? 'good' : verdict === 'slower' || verdict === 'unsearched' ? 'mid' : 'bad'}`}>
      <h3>{t(`why.${verdict}` as MessageKey, { rank: rank ?? 0 })}</h3>
      <p>
        {degreesLabel(strategy)}, {t('answer.microBatch', { n: strategy.microBatchSequences })}, {methodsLabel(strategy)}.
        {estimate &&
          ` ${t('why.figures', {
            step: formatSeconds(estimate.stepSeconds),
            tokens: formatTokensPerSecond(estimate.tokensPerSecondPerDevice),
            mfu: formatPercent(estimate.modelFlopsUtilization),
          })}`}
      </p>
      {rules.length > 0 && <List issues={rules} />}
      {memory && memory.overBytes > 0 && estimate && (
        <>
          <p>
            {t('why.overflowText', {
              stage: estimate.memory.peakStage,
              used: formatGib(memory.neededBytes),
              capacity: formatGib(memory.capacityBytes),
              over: formatGib(memory.overBytes),
              part: memoryLabel(memory.largestClass).toLowerCase(),
              bytes: formatGib(estimate.memory.classes[memory.largestClass]),
            })}
          </p>
          <MemoryBreakdown estimate={estimate} idPrefix="why-" />
        </>
      )}
      {comparison && estimate && best && verdict !== 'best' && <Comparison answer={answer} />}
    </div>
  );
}

function Comparison({ answer }: { answer: ExplainAnswer }) {
  const { comparison, estimate, best } = answer;
  if (!comparison || !estimate || !best) return null;
  const slower = comparison.seconds >= 0;
  const signed = (value: number): string => `${value < 0 ? '−' : '+'}${formatSeconds(Math.abs(value))}`;
  const shown = terms.filter(({ term }) => estimate.time[term] !== 0 || best.estimate.time[term] !== 0);
  return (
    <>
      <p>
        {t(slower ? 'why.slowerText' : 'why.fasterText', {
          step: formatSeconds(estimate.stepSeconds),
          best: formatSeconds(best.estimate.stepSeconds),
          percent: formatPercent(Math.abs(estimate.stepSeconds / best.estimate.stepSeconds - 1)),
        })}
      </p>
      <div class="table-scroll" role="region" aria-label={t('why.change')} tabIndex={0}>
        <table class="terms compare">
          <thead>
            <tr>
              <th scope="col">{t('why.term')}</th>
              <th scope="col" class="numeric">
                {t('why.here')}
              </th>
              <th scope="col" class="numeric">
                {t('why.bestPlan')}
              </th>
              <th scope="col" class="numeric">
                {t('why.change')}
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ term, symbol }) => (
              <tr>
                <th scope="row">
                  {termLabel(term)} {symbol && <abbr class="symbol">{symbol}</abbr>}
                </th>
                <td class="numeric">{formatSeconds(estimate.time[term]).replace('-', '−')}</td>
                <td class="numeric">{formatSeconds(best.estimate.time[term]).replace('-', '−')}</td>
                <td class="numeric">{signed(comparison.terms[term])}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{t('why.total')}</th>
              <td class="numeric">{formatSeconds(estimate.stepSeconds)}</td>
              <td class="numeric">{formatSeconds(best.estimate.stepSeconds)}</td>
              <td class="numeric">{signed(comparison.seconds)}</td>
            </tr>
          </tfoot>
        </table>
      </div>
    </>
  );
}
