/**
 * The folders of src/ and what each may import: architecture as a table. An import that points the other way is a fault,
 * as is a use of a runtime's own globals outside of platform/.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** A folder may also import what its own imports may: a layer that is below one is below its users too. */
const mayImport: Record<string, string[]> = {
  base: [],
  platform: ["base"],
  hotpath: ["base"],
  protocol: ["base", "hotpath"],
  log: ["base", "platform", "protocol", "hotpath"],
  catalog: ["base", "log"],
  sql: ["base", "platform", "catalog"],
  tables: ["catalog", "log", "sql", "hotpath"],
  groups: ["base", "log", "protocol"],
  transactions: ["base", "log", "protocol"],
  auth: ["base", "catalog"],
  client: ["base", "platform", "protocol", "hotpath"],
  cdc: ["base", "platform", "tables"],
  broker: ["tables", "groups", "transactions", "auth", "client", "cdc"],
  http: ["broker"],
  cli: ["http"],
};

/** What messages between threads and lazily loaded parts may name without importing: nothing more than the table. */
function allowed(folder: string): Set<string> {
  const all = new Set([folder]);
  const visit = (name: string) => {
    for (const other of mayImport[name] ?? []) {
      if (all.has(other)) continue;
      all.add(other);
      visit(other);
    }
  };
  visit(folder);
  return all;
}

/** One line for each fault: the file, and what it imports that it may not. */
export function directionFaults(source: string): string[] {
  const faults: string[] = [];
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.[cm]?ts$/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const name = relative(source, path);
    const folder = name.split("/")[0]!;
    if (!(folder in mayImport)) {
      faults.push(`src/${name}: the folder ${folder} is not in the table of scripts/import_direction.ts`);
      continue;
    }
    const text = readFileSync(path, "utf8");
    const permitted = allowed(folder);
    for (const [, target] of text.matchAll(/(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g)) {
      const to = relative(source, resolve(dirname(path), target!)).split("/")[0]!;
      if (to !== ".." && !permitted.has(to)) faults.push(`src/${name} imports src/${to}, which is not below ${folder}`);
    }
    if (folder !== "platform" && /\b(?:Bun|Deno)\.[a-zA-Z]/.test(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")))
      faults.push(`src/${name} uses a runtime's own API: that belongs in src/platform`);
  }
  return faults;
}
