// What was considered, and what removed the rest.
import { ShareBar } from '../charts/bars.tsx';
import type { SearchReport } from '../state/answer.ts';
import { formatCount, formatPercent } from '../state/format.ts';
import { t } from '../i18n/index.ts';

export function Counts({ search, elapsedMs, stale }: { search: SearchReport; elapsedMs: number; stale: boolean }) {
  const { rawSpace, evaluated, feasible } = search;
  const share = (count: number): number => (rawSpace > 0 ? count / rawSpace : 0);
  const removed = Object.entries(search.removed)
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a);
  // "100.0 %" is said only when nothing was estimated.
  const prunedShare = share(rawSpace - evaluated);
  const pruned = prunedShare < 1 && prunedShare > 0.9995 ? `>${formatPercent(0.9995, 2)}` : formatPercent(prunedShare);
  const row = (label: string, count: number, className?: string) => (
    <tr class={className}>
      <th scope="row">{label}</th>
      <td class="bar-cell">
        <ShareBar fraction={share(count)} />
      </td>
      <td class="numeric">{formatCount(count)}</td>
      <td class="numeric">{formatPercent(share(count))}</td>
    </tr>
  );
  return (
    <section class={`panel${stale ? ' stale' : ''}`} aria-labelledby="counts-title">
      <div class="panel-head">
        <h2 id="counts-title">{t('counts.title')}</h2>
        <p class="panel-note">{t('counts.time', { ms: elapsedMs < 1 ? '<1 ms' : `${formatCount(elapsedMs)} ms` })}</p>
      </div>
      <p class="finding">
        {t('counts.finding', { raw: formatCount(rawSpace), pruned, evaluated: formatCount(evaluated), feasible: formatCount(feasible) })}
      </p>
      <table class="terms counts">
        <caption class="visually-hidden">{t('counts.caption')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('counts.reason')}</th>
            <th scope="col" class="bar-cell" aria-hidden="true" />
            <th scope="col" class="numeric">
              {t('counts.count')}
            </th>
            <th scope="col" class="numeric">
              {t('counts.share')}
            </th>
          </tr>
        </thead>
        <tbody>
          {removed.map(([rule, count]) => row(search.reasons[rule] ?? rule, count))}
          {row(t('counts.evaluated'), evaluated, 'evaluated')}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t('counts.total')}</th>
            <td class="bar-cell" />
            <td class="numeric">{formatCount(rawSpace)}</td>
            <td class="numeric">{formatPercent(1)}</td>
          </tr>
        </tfoot>
      </table>
      <p class="hint">{t('counts.caption')}</p>
    </section>
  );
}
