/** Finds known field names in the objects of one source, which mostly look alike: the name that stood at a place last time is tried first. */
import type { JsonScanner } from "../json/scan.ts";

/** Places in an object for which a name is remembered. */
const predictionsMax = 256;
/** Longer unknown names are not remembered. */
const strangerBytesMax = 256;

export class FieldNames {
  private readonly names: readonly Uint8Array[];
  private readonly byName = new Map<string, number>();
  private readonly predicted = new Int32Array(predictionsMax).fill(-1);
  /** A name that is none of these, last seen at each place. */
  private readonly strangers: (Uint8Array | undefined)[] = [];

  constructor(names: readonly string[]) {
    this.names = names.map((name) => new TextEncoder().encode(name));
    names.forEach((name, i) => {
      this.byName.set(name, i);
    });
  }

  /** The name that was just scanned, the `position`-th of its object, or -1. */
  find(scanner: JsonScanner, position: number): number {
    if (position < predictionsMax && !scanner.textEscaped) {
      const guess = this.predicted[position]!;
      if (guess >= 0 && sameBytes(this.names[guess]!, scanner.bytes, scanner.textStart, scanner.textEnd)) return guess;
      if (guess < 0) {
        const stranger = this.strangers[position];
        if (stranger !== undefined && sameBytes(stranger, scanner.bytes, scanner.textStart, scanner.textEnd)) return -1;
      }
    }
    const index = this.byName.get(scanner.textValue()) ?? -1;
    if (position < predictionsMax) {
      this.predicted[position] = index;
      if (index < 0 && !scanner.textEscaped && scanner.textEnd - scanner.textStart < strangerBytesMax)
        this.strangers[position] = scanner.bytes.slice(scanner.textStart, scanner.textEnd);
    }
    return index;
  }
}

function sameBytes(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name[i] !== bytes[start + i]) return false;
  return true;
}
