/**
 * A WebAssembly.Table that grows by large steps. The module's loader asks for one more entry 38,000 times, and each time the runtime copies the
 * whole table: 1.2 of the 3.3 seconds of CPU that DuckDB took to start.
 */

/** Entries by which the table really grows. */
const stepEntries = 40_960;

const { Table } = WebAssembly;

/** Its `length` is what was asked for; the entries behind it are empty. */
class RoomyTable extends Table {
  private used: number;
  private room: number;

  constructor(description: WebAssembly.TableDescriptor) {
    const room = description.initial + stepEntries;
    super({ ...description, initial: room });
    this.used = description.initial;
    this.room = room;
  }

  override get length(): number {
    return this.used;
  }

  override grow(entries: number): number {
    const before = this.used;
    if (before + entries > this.room) {
      const step = Math.max(stepEntries, entries);
      super.grow(step);
      this.room += step;
    }
    this.used = before + entries;
    return before;
  }
}

let turn: Promise<unknown> = Promise.resolve();

/** While `load` runs, tables that are made are such tables. One `load` at a time, since tables are made by a global name. */
export function withRoomyTables<T>(load: () => Promise<T>): Promise<T> {
  const result = turn.then(async () => {
    WebAssembly.Table = RoomyTable;
    try {
      return await load();
    } finally {
      WebAssembly.Table = Table;
    }
  });
  turn = result.catch(() => undefined);
  return result;
}
