// Parts of a whole: one bar, and below it what each part is, how long, and what that means.

import { count, percent, time } from "../format.ts";
import { Defined } from "../metric.tsx";
import { tipOn } from "../tip.tsx";
import { gather, type Piece, place } from "./pieces.ts";

export function Stacked(props: {
  label: string;
  pieces: Piece[];
  /** What the bar represents, if more than its parts. */
  whole?: number | undefined;
  /** What is left of the whole. */
  rest?: string;
  /** A count beside each part. */
  counts?: Map<string, number>;
  /** A click on a part. */
  onPick?: (key: string) => void;
  picked?: string | undefined;
}) {
  const { placed, sum, whole } = place(gather(props.pieces), props.whole);
  const rest = whole - sum;
  return (
    <div class="stacked">
      <div class="stacked-bar" aria-hidden="true">
        {placed.map((piece) => (
          <span
            key={piece.key}
            class={`cat-${piece.category} ${props.picked && props.picked !== piece.key ? "dim" : ""}`}
            style={{ width: `${piece.share * 100}%` }}
            {...tipOn(`${piece.label}: ${time(piece.value)}, ${percent(piece.share)}`)}
          />
        ))}
      </div>
      <ul class="stacked-parts" aria-label={props.label}>
        {placed.map((piece) => (
          <li key={piece.key}>
            <span class={`swatch cat-${piece.category}`} aria-hidden="true" />
            {props.onPick ? (
              <button
                type="button"
                class="stacked-pick"
                aria-pressed={props.picked === piece.key}
                onClick={() => props.onPick?.(piece.key)}
                {...(piece.text ? tipOn(piece.text) : {})}
              >
                {piece.label}
              </button>
            ) : (
              <span>
                <Defined text={piece.text}>{piece.label}</Defined>
              </span>
            )}
            <span class="num">{time(piece.value)}</span>
            <span class="num quiet">{percent(piece.share)}</span>
            {props.counts && <span class="num quiet">{count(props.counts.get(piece.key) ?? 0)}×</span>}
          </li>
        ))}
        {props.rest && rest > 0 && (
          <li>
            <span class="swatch stacked-rest" aria-hidden="true" />
            <span>{props.rest}</span>
            <span class="num">{time(rest)}</span>
            <span class="num quiet">{percent(rest / whole)}</span>
            {props.counts && <span />}
          </li>
        )}
      </ul>
    </div>
  );
}
