// Bars drawn in SVG with attributes only: the content security policy forbids style attributes. They are pictures of
// the numbers in the table around them and hidden from assistive technology.

const percent = (fraction: number): string => `${(Math.min(1, Math.max(0, fraction)) * 100).toFixed(3)}%`;

/** One bar of a waterfall, from `from` to `to` on an axis of 0..1; `to` below `from` draws a subtraction. */
export function WaterfallBar({ from, to, kind }: { from: number; to: number; kind: string }) {
  const left = Math.min(from, to);
  return (
    <svg class="waterfall" width="100%" height="16" aria-hidden="true" focusable="false">
      <rect class={`bar bar-${kind}`} x={percent(left)} y="2" width={percent(Math.max(Math.abs(to - from), 0.002))} height="12" rx="1.5" />
    </svg>
  );
}

export function ShareBar({ fraction }: { fraction: number }) {
  return (
    <svg class="share-bar" width="100%" height="8" aria-hidden="true" focusable="false">
      <rect class="track" x="0" y="0" width="100%" height="8" rx="4" />
      {fraction > 0 && <rect class="fill" x="0" y="0" width={percent(Math.max(fraction, 0.004))} height="8" rx="4" />}
    </svg>
  );
}

export interface Segment {
  key: string;
  value: number;
  label: string;
}

/** A stacked bar against a limit. The axis ends at the larger of the two. */
export function StackedBar({ segments, limit, limitLabel }: { segments: Segment[]; limit: number; limitLabel: string }) {
  const total = segments.reduce((sum, segment) => sum + segment.value, 0);
  const end = Math.max(total, limit) * 1.0;
  let at = 0;
  return (
    <svg class="stacked" width="100%" height="58" aria-hidden="true" focusable="false">
      <rect class="track" x="0" y="4" width={percent(limit / end)} height="34" rx="3" />
      {segments.map((segment) => {
        const x = at / end;
        const width = segment.value / end;
        at += segment.value;
        if (segment.value <= 0) return null;
        return (
          <g key={segment.key}>
            <rect class={`bar mem-${segment.key}`} x={percent(x)} y="4" width={percent(width)} height="34" />
            {/* Set off from its neighbor by a line, not by color alone. */}
            <rect class="gap" x={percent(x)} y="4" width="1.5" height="34" />
            {width > 0.04 + segment.label.length * 0.0145 && (
              <text class={`on-mem-${segment.key}`} x={percent(x + width / 2)} y="26" text-anchor="middle">
                {segment.label}
              </text>
            )}
          </g>
        );
      })}
      <rect class={total > limit ? 'limit over' : 'limit'} x={percent(limit / end - 0.003)} y="0" width="2" height="42" />
      <text class="axis" x="0" y="55">
        0
      </text>
      <text class="axis" x={percent(limit / end)} y="55" text-anchor={limit / end > 0.25 ? 'end' : 'start'}>
        {limitLabel}
      </text>
    </svg>
  );
}
