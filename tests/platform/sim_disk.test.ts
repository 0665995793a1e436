import { describe, expect, test } from "bun:test";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";

const filled = (length: number, value: number) => new Uint8Array(length).fill(value);

/** What each of many seeds made of the same steps. */
function outcomes<T>(steps: (disk: SimDisk) => T): T[] {
  return Array.from({ length: 60 }, (_, seed) => steps(new SimDisk({ random: new SeededRandom(seed) })));
}

describe("a power cut", () => {
  test("keeps what was synced, and any part of the rest", () => {
    const kinds = new Set<string>();
    for (const content of outcomes((disk) => {
      const file = disk.open("/f", { write: true, create: true });
      file.write(filled(2048, 1), 0);
      file.syncNow();
      disk.syncDirectory("/");
      file.write(filled(2048, 2), 1024);
      disk.restart();
      return disk.readFile("/f");
    })) {
      expect(content.length).toBeGreaterThanOrEqual(2048);
      expect(content.subarray(0, 1024)).toEqual(filled(1024, 1));
      const tail = content.subarray(1024);
      const [old, written, zero] = [1, 2, 0].map((value) => tail.filter((byte) => byte === value).length);
      expect(old! + written! + zero!).toBe(tail.length);
      if (written === 0) kinds.add("lost");
      else if (tail.length === 2048 && written === 2048) kinds.add("kept");
      else kinds.add("torn");
      if (content.length % 512 !== 0) kinds.add("odd length");
    }
    expect([...kinds].sort()).toEqual(["kept", "lost", "odd length", "torn"]);
  });

  test("may lose names that their folder did not sync, and bring removed ones back", () => {
    const seen = new Set(
      outcomes((disk) => {
        disk.makeDirectory("/d");
        disk.syncDirectory("/");
        disk.open("/d/old", { write: true, create: true }).close();
        disk.syncDirectory("/d");
        disk.open("/d/new", { write: true, create: true }).syncNow();
        disk.remove("/d/old");
        disk.restart();
        return disk.list("/d").sort().join(" ");
      }),
    );
    expect([...seen].sort()).toEqual(["", "new", "new old", "old"]);
  });

  test("leaves a renamed file under exactly one of its names, with old or new content", () => {
    const seen = new Set(
      outcomes((disk) => {
        for (const [name, value] of [
          ["f", 1],
          ["f.tmp", 2],
        ] as const) {
          const file = disk.open(`/${name}`, { write: true, create: true });
          file.write(filled(10, value), 0);
          file.syncNow();
          if (name === "f") disk.syncDirectory("/");
        }
        disk.rename("/f.tmp", "/f");
        disk.restart();
        return `${disk.readFile("/f")[0]} ${disk.list("/").length}`;
      }),
    );
    expect([...seen].sort()).toEqual(["1 1", "2 1"]);
  });

  test("stops every call, at the change that was asked for", () => {
    const disk = new SimDisk({ random: new SeededRandom(3) });
    const file = disk.open("/f", { write: true, create: true });
    disk.cutPowerAfter(2);
    file.write(filled(10, 1), 0);
    expect(() => file.write(filled(10, 1), 10)).toThrow(/power is off/);
    expect(() => disk.stat("/f")).toThrow(/power is off/);
    disk.restart();
    expect(() => file.size()).toThrow(/power was cut/);
    expect(disk.list("/").length).toBeLessThanOrEqual(1);
  });
});

test("a failed sync loses its bytes though a second one succeeds", async () => {
  const disk = new SimDisk({ random: new SeededRandom(4) });
  const file = disk.open("/f", { write: true, create: true });
  disk.syncDirectory("/");
  file.write(filled(100, 1), 0);
  disk.failSyncs(1);
  await expect(file.sync()).rejects.toThrow(/input\/output error/);
  await file.sync();
  expect(file.size()).toBe(100);
  disk.restart();
  expect(disk.readFile("/f").filter((byte) => byte === 1).length).toBe(0);
});

test("a full disk takes a part of a write, refuses the rest, and takes more after a removal", () => {
  const disk = new SimDisk({ random: new SeededRandom(5), capacity: 4096 });
  disk.open("/a", { write: true, create: true }).write(filled(3000, 1), 0);
  const file = disk.open("/b", { write: true, create: true });
  expect(() => file.write(filled(2000, 2), 0)).toThrow(/no space left/);
  expect(file.size()).toBeLessThan(2000);
  expect(disk.freeBytes("/").free).toBe(0);
  file.write(filled(100, 3), 0);
  disk.remove("/a");
  expect(disk.freeBytes("/").free).toBe(3072);
  file.write(filled(2000, 2), 0);
  expect(file.size()).toBe(2000);
});

test("writes fail when asked to", () => {
  const disk = new SimDisk({ random: new SeededRandom(6) });
  const file = disk.open("/f.log", { write: true, create: true });
  disk.failWrites(1, (path) => path.endsWith(".log"));
  expect(() => file.write(filled(1000, 1), 0)).toThrow(/input\/output/);
  file.write(filled(1000, 1), 0);
  expect(file.size()).toBe(1000);
});

test("a seed repeats itself", () => {
  const draw = (seed: number) => {
    const random = new SeededRandom(seed);
    return Array.from({ length: 5 }, () => random.below(1000));
  };
  expect(draw(9)).toEqual(draw(9));
  expect(draw(9)).not.toEqual(draw(10));
});

describe("a fork", () => {
  test("has what was there before a change, or a part of it, and lives its own life", () => {
    const disk = new SimDisk({ random: new SeededRandom(1) });
    disk.makeDirectory("/d");
    disk.syncDirectory("/");
    const file = disk.open("/d/f", { write: true, create: true });
    file.write(filled(1000, 1), 0);
    file.syncNow();
    disk.syncDirectory("/d");
    const seen: string[] = [];
    const forks: SimDisk[] = [];
    disk.beforeChange = (operation, _path, fork) => {
      seen.push(operation);
      forks.push(fork(new SeededRandom(forks.length)));
    };
    file.write(filled(1000, 2), 0);
    file.syncNow();
    disk.remove("/d/f");
    disk.beforeChange = undefined;
    expect(seen).toEqual(["write", "sync", "remove"]);
    const [atWrite, atSync, atRemove] = forks as [SimDisk, SimDisk, SimDisk];
    const written = atWrite.readFile("/d/f").filter((byte) => byte === 2).length;
    expect(written).toBeLessThan(1000);
    expect(atSync.readFile("/d/f")).toEqual(filled(1000, 2));
    const changed = atSync.open("/d/f", { write: true });
    changed.write(filled(10, 3), 0);
    changed.syncNow();
    atSync.restart();
    atRemove.restart();
    expect(atSync.readFile("/d/f")).toEqual(new Uint8Array([...filled(10, 3), ...filled(990, 2)]));
    expect(atRemove.readFile("/d/f")).toEqual(filled(1000, 2));
    expect(disk.stat("/d/f")).toBeUndefined();
  });

  test("taken at a sync may lose what the sync was to keep", () => {
    const contents = new Set<number>();
    for (let seed = 0; seed < 40; seed++) {
      const disk = new SimDisk({ random: new SeededRandom(seed) });
      const file = disk.open("/f", { write: true, create: true });
      disk.syncDirectory("/");
      file.write(filled(512, 7), 0);
      let fork: SimDisk | undefined;
      disk.beforeChange = (_operation, _path, make) => {
        fork = make(new SeededRandom(seed));
      };
      file.syncNow();
      fork!.restart();
      contents.add(fork!.readFile("/f")[0] ?? -1);
    }
    expect(contents.has(7) && contents.size > 1).toBe(true);
  });
});
