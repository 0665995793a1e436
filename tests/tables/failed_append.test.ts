import { expect, test } from "bun:test";
import { type Disk, DiskError, type DiskFile } from "../../src/platform/disk.ts";
import { nodeDisk } from "../../src/platform/node_disk.ts";
import { Lake } from "./lake.ts";

/** The real disk, whose log files refuse writes while `failing` says so. */
function failingDisk(failing: () => boolean): Disk {
  const disk = nodeDisk();
  const guarded = (file: DiskFile): DiskFile =>
    new Proxy(file, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (name === "writev" && target.path.endsWith(".log") && failing())
            throw new DiskError("EIO", "write", target.path);
          return (value as (...given: unknown[]) => unknown).apply(target, given);
        };
      },
    });
  return new Proxy(disk, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name === "open") return (...given: Parameters<Disk["open"]>) => guarded(target.open(...given));
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test("rows of an append that failed do not come back under the offsets that others got", async () => {
  let failing = false;
  const lake = await Lake.open(failingDisk(() => failing));
  try {
    await lake.sql("CREATE TABLE t (n BIGINT)");
    expect((await lake.produce("t", [{ value: '{"n":1}' }])).errorCode).toBe(0);
    expect(await lake.sql("SELECT n FROM t")).toEqual([[1]]);
    failing = true;
    const refused = await lake.produce("t", [{ value: '{"n":2}' }, { value: '{"n":3}' }]);
    expect(refused.errorCode).toBe(56); // KAFKA_STORAGE_ERROR
    failing = false;
    const next = await lake.produce("t", [{ value: '{"n":4}' }, { value: '{"n":5}' }, { value: '{"n":6}' }]);
    expect({ errorCode: next.errorCode, baseOffset: next.baseOffset }).toEqual({ errorCode: 0, baseOffset: 1 });
    expect(await lake.sql("SELECT n FROM t ORDER BY n")).toEqual([[1], [4], [5], [6]]);
  } finally {
    await lake.close();
  }
});
