/**
 * One DuckDB module for all starts of a process: its memory as it was right after loading is put back before each start, which makes a
 * start take some 50 ms instead of seconds, and all starts alike.
 *
 * Invariant: one core lives at a time; whatever still runs for an earlier one fails instead of touching the module.
 */

import type { Disk } from "../../src/platform/disk.ts";
import { duckdbWasmPath } from "../../src/platform/duckdb_assets.ts";
import type { WorkerEvents, WorkerHandle } from "../../src/platform/worker.ts";
import { DatabaseFiles } from "../../src/sql/database_files.ts";
import { DuckDbCalls, type DuckDbModule, loadDuckDb, type RuntimeFunctions } from "../../src/sql/duckdb_library.ts";
import { EngineCore } from "../../src/sql/engine_core.ts";
import { EngineThread } from "../../src/sql/engine_thread.ts";
import type { EngineRequest, EngineSettings } from "../../src/sql/messages.ts";
import { ScalarBridge } from "../../src/sql/scalar_bridge.ts";

type Runtime = Record<string, (...values: unknown[]) => unknown>;

export class EngineImage {
  private readonly module: DuckDbModule;
  private readonly bytes: Uint8Array;
  private readonly stack: number;
  private readonly current: { runtime: Runtime };
  private calls: DuckDbCalls | undefined;

  private constructor(module: DuckDbModule, current: { runtime: Runtime }) {
    this.module = module;
    this.current = current;
    this.stack = module.stackSave();
    this.bytes = module.HEAPU8.slice();
  }

  /** Compiles the module: one to three seconds. `anyDisk`: only asked for the names of the runtime's functions. */
  static async load(anyDisk: Disk): Promise<EngineImage> {
    const current = { runtime: {} as Runtime };
    const delegating: RuntimeFunctions = {};
    const names = [...Object.keys(new DatabaseFiles(anyDisk, "/").runtime()), "callScalarUDF"];
    for (const name of names) delegating[name] = (...values: unknown[]) => current.runtime[name]!(...values);
    const { module } = await loadDuckDb(await duckdbWasmPath(), delegating);
    return new EngineImage(module, current);
  }

  /** Ends the core that is alive, if one is. */
  retire(): void {
    if (this.calls) (this.calls as { module: DuckDbModule }).module = deadModule;
    this.calls = undefined;
  }

  start(disk: Disk, settings: EngineSettings): EngineCore {
    this.retire();
    const { module, bytes } = this;
    module.HEAPU8.set(bytes);
    module.HEAPU8.fill(0, bytes.length);
    module.stackRestore(this.stack);
    const files = new DatabaseFiles(disk, settings.path);
    const bridge = new ScalarBridge();
    this.current.runtime = { ...files.runtime(), callScalarUDF: bridge.call } as unknown as Runtime;
    this.calls = new DuckDbCalls(module);
    return EngineCore.open(this.calls, files, bridge, settings);
  }

  /** What SqlEngine takes for its thread, on this one. `hasEnded`: of the process, which then starts no engine any more. */
  spawn(disk: Disk, hasEnded: () => boolean): (events: WorkerEvents) => WorkerHandle {
    return (events) => {
      let isOver = false;
      const later = (action: () => void) => void setImmediate(() => isOver || hasEnded() || action());
      const thread = new EngineThread(
        async (settings) => this.start(disk, settings),
        (reply) => later(() => events.message(reply)),
      );
      return {
        post: (message) => later(() => void thread.receive(message as EngineRequest)),
        terminate: () => {
          isOver = true;
        },
      };
    };
  }
}

const deadModule = new Proxy({} as DuckDbModule, {
  get() {
    throw new Error("this engine's process has ended");
  },
});
