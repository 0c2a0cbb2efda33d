// The plan in the address: replaced while editing, a new entry when a preset is chosen.
import { encodeLink, type LinkPayload } from './link.ts';

const pauseMs = 400;
let timer: ReturnType<typeof setTimeout> | undefined;

export const pageAddress = (): string => location.href.split(/[?#]/)[0]!;

/** Writes the plan into the address once nothing changed for a moment. */
export function rememberSoon(payload: LinkPayload): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    void encodeLink(payload).then((link) => {
      try {
        history.replaceState(null, '', `${pageAddress()}#${link}`);
      } catch {
        // refused in some frames; the copy button still works
      }
    });
  }, pauseMs);
}

export const forget = (): void => clearTimeout(timer);

/** A way back to what is on screen now. */
export function keepEntry(): void {
  try {
    history.pushState(null, '', location.href);
  } catch {
    // see above
  }
}
