/** One contract, two disks: what is promised in src/platform/disk.ts, checked on the real disk and on the simulated one. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Disk, DiskError, parentOf, replaceFile, replaceFileLater } from "../../src/platform/disk.ts";
import { nodeDisk } from "../../src/platform/node_disk.ts";
import { OverlayDisk } from "../../src/platform/overlay_disk.ts";
import { SeededRandom } from "../../src/platform/sim/random.ts";
import { SimDisk } from "../../src/platform/sim/sim_disk.ts";

const real = mkdtempSync(join(tmpdir(), "rowlog-disk-"));
afterAll(() => rmSync(real, { recursive: true, force: true }));
let made = 0;

const disks: [string, () => { disk: Disk; root: string }][] = [
  ["real", () => ({ disk: nodeDisk(), root: `${real}/${made++}` })],
  ["overlaid", () => ({ disk: new OverlayDisk(nodeDisk()), root: `${real}/${made++}` })],
  ["simulated", () => ({ disk: new SimDisk({ random: new SeededRandom(1) }), root: "/lake" })],
];
const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (disk: Disk, path: string) => new TextDecoder().decode(disk.readFile(path));
const codeOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    return error instanceof DiskError ? error.code : `not a DiskError: ${error}`;
  }
  return "no error";
};

describe.each(disks)("%s disk", (_name, make) => {
  let disk: Disk;
  let root: string;
  beforeEach(() => {
    ({ disk, root } = make());
    disk.makeDirectory(root);
  });

  test("what is written is read back at its position", async () => {
    const file = disk.open(`${root}/f`, { write: true, create: true });
    file.write(bytes("hello"), 0);
    file.writev([bytes("ab"), bytes(""), bytes("cdef")], 5);
    expect(file.size()).toBe(11);
    const into = new Uint8Array(4);
    expect(file.read(into, 4)).toBe(4);
    expect(new TextDecoder().decode(into)).toBe("oabc");
    expect(file.read(into, 9)).toBe(2);
    expect(file.read(into, 11)).toBe(0);
    await file.sync();
    file.syncNow();
    file.close();
    expect(textOf(disk, `${root}/f`)).toBe("helloabcdef");
  });

  test("a write past the end leaves zeros between", () => {
    const file = disk.open(`${root}/f`, { write: true, create: true });
    file.write(bytes("a"), 0);
    file.write(bytes("z"), 3);
    expect([...disk.readFile(`${root}/f`)]).toEqual([97, 0, 0, 122]);
  });

  test("more pieces than one call of the system takes", () => {
    const file = disk.open(`${root}/f`, { write: true, create: true });
    const parts = Array.from({ length: 2500 }, (_, n) => bytes(`${n};`));
    file.writev(parts, 0);
    expect(textOf(disk, `${root}/f`)).toBe(parts.map((_, n) => `${n};`).join(""));
  });

  test("large and small pieces in one call, at any position", () => {
    const file = disk.open(`${root}/f`, { write: true, create: true });
    const sizes = [0, 1, 300_000, 65_536, 262_144, 262_145, 10, 0, 700_001, 3];
    const parts = sizes.map((size, n) => new Uint8Array(size).map((_, i) => i * 7 + n));
    file.writev(parts, 12_345);
    file.write(parts[8]!, 2_000_000);
    expect(disk.readFile(`${root}/f`).subarray(12_345, 12_345 + 1_589_840)).toEqual(
      new Uint8Array(Buffer.concat(parts)),
    );
    expect(disk.readFile(`${root}/f`).subarray(2_000_000)).toEqual(parts[8]!);
  });

  test("truncate cuts and extends", () => {
    const file = disk.open(`${root}/f`, { write: true, create: true });
    file.write(bytes("abcdef"), 0);
    file.truncate(2);
    file.truncate(4);
    expect([...disk.readFile(`${root}/f`)]).toEqual([97, 98, 0, 0]);
    disk.open(`${root}/f`, { write: true, truncate: true }).close();
    expect(disk.stat(`${root}/f`)?.size).toBe(0);
  });

  test("names: create, exclusive, rename over, remove, list, stat", () => {
    expect(codeOf(() => disk.open(`${root}/none`))).toBe("ENOENT");
    expect(codeOf(() => disk.open(`${root}/no/folder`, { create: true, write: true }))).toBe("ENOENT");
    expect(disk.stat(`${root}/none`)).toBeUndefined();
    for (const name of ["a", "b"]) {
      const file = disk.open(`${root}/${name}`, { create: true, exclusive: true, write: true });
      file.write(bytes(name), 0);
      file.close();
    }
    expect(codeOf(() => disk.open(`${root}/a`, { create: true, exclusive: true, write: true }))).toBe("EEXIST");
    expect(disk.list(root).sort()).toEqual(["a", "b"]);
    disk.rename(`${root}/a`, `${root}/b`);
    expect(disk.list(root)).toEqual(["b"]);
    expect(textOf(disk, `${root}/b`)).toBe("a");
    expect(disk.stat(`${root}/b`)).toMatchObject({ size: 1, isDirectory: false });
    disk.remove(`${root}/b`);
    expect(codeOf(() => disk.remove(`${root}/b`))).toBe("ENOENT");
    expect(codeOf(() => disk.list(`${root}/b`))).toBe("ENOENT");
    expect(codeOf(() => disk.rename(`${root}/b`, `${root}/c`))).toBe("ENOENT");
  });

  test("folders: made with those above, renamed with content, removed with content", async () => {
    disk.makeDirectory(`${root}/x/y/z`);
    disk.makeDirectory(`${root}/x/y/z`);
    expect(disk.stat(`${root}/x/y`)?.isDirectory).toBe(true);
    replaceFile(disk, `${root}/x/y/f`, bytes("1"));
    disk.syncDirectory(`${root}/x`);
    await disk.syncDirectoryLater(root);
    disk.rename(`${root}/x`, `${root}/w`);
    expect(textOf(disk, `${root}/w/y/f`)).toBe("1");
    disk.removeTree(`${root}/w`);
    disk.removeTree(`${root}/w`);
    disk.makeDirectory(`${root}/later/inner`);
    disk.open(`${root}/later/inner/f`, { write: true, create: true }).close();
    await disk.removeTreeLater(`${root}/later`);
    await disk.removeTreeLater(`${root}/later`);
    expect(disk.stat(`${root}/later`)).toBeUndefined();
    expect(disk.list(root)).toEqual([]);
  });

  test("a file is replaced as a whole", async () => {
    replaceFile(disk, `${root}/f`, bytes("first, long"));
    await replaceFileLater(disk, `${root}/f`, bytes("second"));
    expect(textOf(disk, `${root}/f`)).toBe("second");
    expect(disk.list(root)).toEqual(["f"]);
  });

  test("an open file outlives its name, and a closed one refuses use", async () => {
    const file = disk.open(`${root}/f`, { write: true, create: true });
    file.write(bytes("abc"), 0);
    disk.remove(`${root}/f`);
    const into = new Uint8Array(3);
    expect(file.read(into, 0)).toBe(3);
    const syncing = file.sync();
    file.close();
    file.close();
    await syncing;
    expect(codeOf(() => file.read(into, 0))).toBe("EBADF");
    expect(codeOf(() => file.write(into, 0))).toBe("EBADF");
  });

  test("a file opened for reading refuses writes", () => {
    replaceFile(disk, `${root}/f`, bytes("abc"));
    const file = disk.open(`${root}/f`);
    expect(codeOf(() => file.write(bytes("x"), 0))).toBe("EBADF");
    expect(textOf(disk, `${root}/f`)).toBe("abc");
  });

  test("free space is told", () => {
    const { free, total } = disk.freeBytes(root);
    expect(free).toBeGreaterThan(0);
    expect(total).toBeGreaterThanOrEqual(free);
  });
});

test("an error names the operation, the path and the way out", () => {
  expect(() => nodeDisk().open("/no/such/file")).toThrow("cannot open /no/such/file: it does not exist (ENOENT)");
  expect(new DiskError("ENOSPC", "write", "/x").message).toContain("free some space");
});

test("the folder of a path", () => {
  expect(["a/b/c", "/a", "a"].map(parentOf)).toEqual(["a/b", "/", "."]);
});
