// Where one plan spends its time and its memory.
import { StackedBar, WaterfallBar } from '../charts/bars.tsx';
import type { Estimate, Plan } from '../state/answer.ts';
import { formatGib, formatPercent, formatSeconds } from '../state/format.ts';
import { t, type MessageKey } from '../i18n/index.ts';
import { layoutLabel, memoryAbout, memoryClasses, memoryLabel, termAbout, termLabel, terms } from './labels.ts';

function TimeBreakdown({ estimate }: { estimate: Estimate }) {
  const total = estimate.stepSeconds;
  const shown = terms.filter(({ term }) => estimate.time[term] !== 0);
  const zero = terms.filter(({ term }) => estimate.time[term] === 0);
  // The axis must hold the highest point that the waterfall reaches before overlap is taken off.
  let height = 0;
  let top = total;
  for (const { term } of shown) {
    height += estimate.time[term];
    top = Math.max(top, height);
  }
  let at = 0;
  const other = [...shown].filter((info) => info.term !== 'compute').sort((a, b) => estimate.time[b.term] - estimate.time[a.term])[0];
  const share = formatPercent(estimate.time.compute / total, 0);
  return (
    <figure class="breakdown" aria-labelledby="time-title">
      <h3 id="time-title">{t('details.time')}</h3>
      <p class="finding">
        {other && estimate.time[other.term] > 0
          ? t('details.timeFinding', { share, term: termLabel(other.term).toLowerCase(), value: formatPercent(estimate.time[other.term] / total, 0) })
          : t('details.timeFindingOnly', { share })}
      </p>
      <table class="terms">
        <caption class="visually-hidden">{t('details.timeCaption')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('details.term')}</th>
            <th scope="col" class="bar-cell">
              <span class="visually-hidden">{t('details.bar')}</span>
            </th>
            <th scope="col" class="numeric">
              {t('details.value')}
            </th>
            <th scope="col" class="numeric">
              {t('details.share')}
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ term, symbol, kind }) => {
            const value = estimate.time[term];
            const from = at;
            at += value;
            return (
              <tr>
                <th scope="row">
                  <span class="term-name">
                    {termLabel(term)}
                    {symbol && (
                      <>
                        {' '}
                        <abbr class="symbol" title={t('details.symbol')}>
                          {symbol}
                        </abbr>
                      </>
                    )}
                  </span>
                  <span class="about">{termAbout(term)}</span>
                </th>
                <td class="bar-cell">
                  <WaterfallBar from={from / top} to={at / top} kind={kind} />
                </td>
                <td class="numeric">{formatSeconds(value).replace('-', '−')}</td>
                <td class="numeric">{formatPercent(value / total).replace('-', '−')}</td>
              </tr>
            );
          })}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t('details.total')}</th>
            <td class="bar-cell">
              <WaterfallBar from={0} to={total / top} kind="total" />
            </td>
            <td class="numeric">{formatSeconds(total)}</td>
            <td class="numeric">{formatPercent(1)}</td>
          </tr>
        </tfoot>
      </table>
      <p class="hint">
        {t('details.timeCaption')} {zero.length > 0 && t('details.zeroTerms', { terms: zero.map(({ term }) => termLabel(term).toLowerCase()).join(', ') })}
      </p>
    </figure>
  );
}

export function MemoryBreakdown({ estimate, idPrefix = '' }: { estimate: Estimate; idPrefix?: string }) {
  const { classes, capacityBytes, peakBytes, peakStage } = estimate.memory;
  const largest = [...memoryClasses].sort((a, b) => classes[b] - classes[a])[0]!;
  const free = capacityBytes - peakBytes;
  return (
    <figure class="breakdown" aria-labelledby={`${idPrefix}memory-title`}>
      <h3 id={`${idPrefix}memory-title`}>{t('details.memory')}</h3>
      <p class="finding">
        {t('details.memoryFinding', {
          stage: peakStage,
          used: formatGib(peakBytes),
          capacity: formatGib(capacityBytes),
          part: memoryLabel(largest).toLowerCase(),
          share: formatPercent(classes[largest] / peakBytes, 0),
        })}
      </p>
      <StackedBar
        segments={memoryClasses.map((part) => ({ key: part, value: classes[part], label: memoryLabel(part) }))}
        limit={capacityBytes}
        limitLabel={`${formatGib(capacityBytes)} GiB`}
      />
      <table class="terms memory">
        <caption class="visually-hidden">{t('details.memoryCaption', { stage: peakStage })}</caption>
        <thead>
          <tr>
            <th scope="col">{t('details.class')}</th>
            <th scope="col" class="numeric">
              {t('details.bytes')}
            </th>
            <th scope="col" class="numeric">
              {t('details.share')}
            </th>
          </tr>
        </thead>
        <tbody>
          {memoryClasses.map((part) => (
            <tr class={classes[part] === 0 ? 'faint' : undefined}>
              <th scope="row">
                <svg class="swatch" width="12" height="12" aria-hidden="true" focusable="false">
                  <rect class={`bar mem-${part}`} width="12" height="12" rx="2" />
                </svg>
                <span class="term-name">{memoryLabel(part)}</span>
                <span class="about">{memoryAbout(part)}</span>
              </th>
              <td class="numeric">{formatGib(classes[part])}</td>
              <td class="numeric">{formatPercent(classes[part] / capacityBytes)}</td>
            </tr>
          ))}
          <tr class={free < 0 ? 'over' : 'free'}>
            <th scope="row">
              <svg class="swatch" width="12" height="12" aria-hidden="true" focusable="false">
                <rect class="track" width="12" height="12" rx="2" />
              </svg>
              <span class="term-name">{t((free < 0 ? 'details.over' : 'details.free') as MessageKey)}</span>
            </th>
            <td class="numeric">{formatGib(Math.abs(free))}</td>
            <td class="numeric">{formatPercent(Math.abs(free) / capacityBytes)}</td>
          </tr>
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t('details.capacity')}</th>
            <td class="numeric">{formatGib(capacityBytes)}</td>
            <td class="numeric">{formatPercent(1)}</td>
          </tr>
        </tfoot>
      </table>
      <p class="hint">{t('details.memoryCaption', { stage: peakStage })}</p>
    </figure>
  );
}

export function Details({ plan, rank, stale }: { plan: Plan; rank: number; stale: boolean }) {
  return (
    <section class={`panel${stale ? ' stale' : ''}`} aria-labelledby="details-title">
      <div class="panel-head">
        <h2 id="details-title">{t('details.title', { rank: rank + 1 })}</h2>
        <p class="panel-note">{layoutLabel(plan.strategy)}</p>
      </div>
      <div class="two">
        <TimeBreakdown estimate={plan.estimate} />
        <MemoryBreakdown estimate={plan.estimate} />
      </div>
    </section>
  );
}
