// The ranked plans: sortable, one row chosen.
import { useState } from 'preact/hooks';
import { strategyKey, type Plan } from '../state/answer.ts';
import { formatGib, formatPercent, formatSeconds, formatTokensPerSecond } from '../state/format.ts';
import { t, type MessageKey } from '../i18n/index.ts';
import { labelled, layoutLabel } from './labels.ts';

interface Column {
  key: string;
  head: MessageKey;
  sort: (plan: Plan, rank: number) => number | string;
  cell: (plan: Plan, best: Plan) => preact.ComponentChildren;
  plain?: (plan: Plan) => boolean; // nothing to look at: shown faint
  numeric?: boolean;
  wide?: boolean;
}

const degree = (key: string, head: MessageKey, of: (plan: Plan) => number): Column => ({
  key,
  head,
  sort: of,
  cell: of,
  plain: (plan) => of(plan) === 1,
  numeric: true,
});

const columns: Column[] = [
  degree('tp', 'table.tp', (p) => p.strategy.tensor),
  degree('pp', 'table.pp', (p) => p.strategy.pipeline),
  degree('dp', 'table.dp', (p) => p.strategy.data),
  {
    ...degree('cp', 'table.cp', (p) => p.strategy.context),
    cell: (p) => (p.strategy.context > 1 && p.strategy.contextKind === 'allToAll' ? `${p.strategy.context} a2a` : p.strategy.context),
  },
  degree('ep', 'table.ep', (p) => p.strategy.expert),
  degree('vpp', 'table.vpp', (p) => p.strategy.virtualStages),
  { ...degree('mbs', 'table.mbsShort', (p) => p.strategy.microBatchSequences), plain: undefined },
  {
    key: 'recompute',
    head: 'table.recompute',
    sort: (p) => p.strategy.recompute,
    cell: (p) => labelled('recompute', p.strategy.recompute),
    plain: (p) => p.strategy.recompute === 'none',
  },
  { key: 'zero', head: 'table.zero', sort: (p) => p.strategy.zeroStage, cell: (p) => p.strategy.zeroStage, numeric: true, plain: (p) => p.strategy.zeroStage === 0 },
  {
    key: 'schedule',
    head: 'table.schedule',
    sort: (p) => (p.strategy.pipeline > 1 ? (p.strategy.schedule ?? '') : ''),
    cell: (p) => (
      <>
        {p.strategy.pipeline > 1 ? labelled('schedule', p.strategy.schedule) : '–'}
        {p.strategy.placement === 'pipelineBeforeData' && <small class="slower"> {t('table.pipelineInner')}</small>}
      </>
    ),
    plain: (p) => p.strategy.pipeline === 1,
  },
  {
    key: 'sp',
    head: 'table.sp',
    sort: (p) => Number(p.strategy.sequenceParallel),
    cell: (p) => t(p.strategy.sequenceParallel ? 'table.yes' : 'table.no'),
    plain: (p) => !p.strategy.sequenceParallel,
  },
  {
    key: 'step',
    head: 'table.step',
    sort: (p) => p.estimate.stepSeconds,
    cell: (p, best) => {
      const slower = p.estimate.stepSeconds / best.estimate.stepSeconds - 1;
      return (
        <>
          {formatSeconds(p.estimate.stepSeconds)}
          <span class="slower">{slower > 0.0005 ? t('table.slower', { percent: formatPercent(slower) }) : ''}</span>
        </>
      );
    },
    numeric: true,
    wide: true,
  },
  {
    key: 'tokens',
    head: 'table.tokens',
    sort: (p) => -p.estimate.tokensPerSecondPerDevice,
    cell: (p) => formatTokensPerSecond(p.estimate.tokensPerSecondPerDevice),
    numeric: true,
  },
  { key: 'mfu', head: 'table.mfu', sort: (p) => -p.estimate.modelFlopsUtilization, cell: (p) => formatPercent(p.estimate.modelFlopsUtilization), numeric: true },
  {
    key: 'memory',
    head: 'table.memory',
    sort: (p) => p.estimate.memory.peakBytes,
    cell: (p) => (
      <>
        {formatGib(p.estimate.memory.peakBytes)} <small>GiB</small>
        <svg class="meter" width="100%" height="4" aria-hidden="true" focusable="false">
          <rect class="track" width="100%" height="4" rx="2" />
          <rect class="fill" width={`${Math.min(100, (100 * p.estimate.memory.peakBytes) / p.estimate.memory.capacityBytes).toFixed(2)}%`} height="4" rx="2" />
        </svg>
      </>
    ),
    numeric: true,
  },
];

interface TableProps {
  plans: Plan[];
  chosen: number; // rank from 0
  onChoose: (rank: number) => void;
  stale: boolean;
  more?: { n: number; onMore: () => void };
}

export function PlanTable({ plans, chosen, onChoose, stale, more }: TableProps) {
  const [sort, setSort] = useState<{ key: string; down: boolean }>({ key: 'rank', down: false });
  const best = plans[0];
  if (!best) return null;
  const column = columns.find((c) => c.key === sort.key);
  const rows = plans.map((plan, rank) => ({ plan, rank }));
  rows.sort((a, b) => {
    const x = column ? column.sort(a.plan, a.rank) : a.rank;
    const y = column ? column.sort(b.plan, b.rank) : b.rank;
    const order = x < y ? -1 : x > y ? 1 : a.rank - b.rank;
    return sort.down ? -order : order;
  });
  const head = (key: string, label: string, className = '') => {
    const on = sort.key === key;
    return (
      <th scope="col" class={className} aria-sort={on ? (sort.down ? 'descending' : 'ascending') : undefined}>
        <button type="button" onClick={() => setSort({ key, down: on ? !sort.down : false })}>
          {label}
          <span class="arrow" aria-hidden="true">
            {on ? (sort.down ? '▾' : '▴') : ''}
          </span>
        </button>
      </th>
    );
  };
  return (
    <section class={`panel${stale ? ' stale' : ''}`} aria-labelledby="table-title">
      <div class="panel-head">
        <h2 id="table-title">{t('table.title')}</h2>
        {more && (
          <button type="button" class="quiet" onClick={more.onMore}>
            {t('table.more', { n: more.n })}
          </button>
        )}
      </div>
      <div class="table-scroll" role="region" aria-labelledby="table-title" tabIndex={0}>
        <table class="plans">
          <caption class="visually-hidden">{t('table.caption')}</caption>
          <thead>
            <tr>
              {head('rank', '#', 'rank')}
              {columns.map((c) => head(c.key, t(c.head), c.numeric ? 'numeric' : ''))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ plan, rank }) => (
              <tr key={strategyKey(plan.strategy)} class={rank === chosen ? 'chosen' : undefined} onClick={() => onChoose(rank)}>
                <th scope="row" class="rank">
                  <label>
                    <input
                      type="radio"
                      name="plan"
                      checked={rank === chosen}
                      onChange={() => onChoose(rank)}
                      aria-label={t('table.choose', { rank: rank + 1, label: layoutLabel(plan.strategy) })}
                    />
                    <span aria-hidden="true">{rank + 1}</span>
                  </label>
                </th>
                {columns.map((c) => (
                  <td class={`${c.numeric ? 'numeric' : ''}${c.plain?.(plan) ? ' faint' : ''}${c.wide ? ' step' : ''}`}>{c.cell(plan, best)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="hint">{t('table.legend')}</p>
    </section>
  );
}
