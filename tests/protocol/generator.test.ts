/** The generator's check where there is no Maven: it says that it compared less, and still finds edits by hand. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseVersions } from "../../scripts/protocol/definitions.ts";
import { intersect, when, within } from "../../scripts/protocol/versions.ts";

const root = join(import.meta.dirname, "../..");

function checkWithoutMaven(project: string, cache: string) {
  return spawnSync(process.execPath, [join(project, "scripts/generate-protocol.ts"), "--check"], {
    encoding: "utf8",
    env: { ...process.env, PATH: cache, XDG_CACHE_HOME: cache },
  });
}

test("without Maven the check compares digests", () => {
  const work = mkdtempSync(join(tmpdir(), "rowlog-generator-"));
  try {
    const project = join(work, "project");
    for (const folder of ["scripts", "src/protocol/generated", "tests/vectors/protocol"]) {
      mkdirSync(join(project, folder), { recursive: true });
      cpSync(join(root, folder), join(project, folder), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
    const cache = join(work, "cache");
    mkdirSync(cache);
    const fresh = checkWithoutMaven(project, cache);
    expect(fresh.stdout).toContain("skipped the comparison with Kafka's definitions");
    expect(fresh.status).toBe(0);
    writeFileSync(join(project, "src/protocol/generated/produce_request.ts"), "// edited\n");
    const edited = checkWithoutMaven(project, cache);
    expect(edited.stderr).toContain("edited by hand");
    expect(edited.status).toBe(1);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
});

test("version ranges and conditions", () => {
  const all = { min: 0, max: 9 };
  expect(parseVersions("3", all)).toEqual({ min: 3, max: 3 });
  expect(parseVersions("0-12", all)).toEqual({ min: 0, max: 12 });
  expect(parseVersions("4+", all)).toEqual({ min: 4, max: 32767 });
  expect(parseVersions(undefined, all)).toBe(all);
  expect(() => parseVersions("4-", all)).toThrow("version range");
  const condition = (range: string) => within(parseVersions(range, all), all);
  expect([condition("0+"), condition("none"), condition("10+")]).toEqual([true, false, false]);
  expect([condition("4+"), condition("0-3"), condition("2-5"), condition("9+"), condition("3")]).toEqual([
    "version >= 4",
    "version <= 3",
    "version >= 2 && version <= 5",
    "version === 9",
    "version === 3",
  ]);
  expect(intersect({ min: 2, max: 5 }, { min: 4, max: 9 })).toEqual({ min: 4, max: 5 });
  expect(when("x", ["a;"], ["b;"])).toEqual(["if (x) {", "  a;", "} else {", "  b;", "}"]);
  expect(when(false, ["a;"])).toEqual([]);
});
