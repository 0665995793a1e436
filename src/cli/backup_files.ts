/**
 * A backup on disk: `DIR/lake/…` the files, `DIR/manifest.json` what they are, `DIR/SHA256SUMS` the same for `sha256sum -c`. The manifest is
 * written last and at once: a folder without one is no backup. While a backup is made, `DIR/partial.ndjson` tells what is there already.
 */
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { dirname } from "node:path";
import { CliError } from "./io.ts";

export interface BackupFile {
  path: string;
  bytes: number;
  sha256: string;
  /** Tells whether a file of this size is the same file as before: its inode. */
  source: string;
}

export interface Manifest {
  format: 1;
  rowlog: string;
  clusterId: string | null;
  /** ISO 8601. */
  madeAt: string;
  partitions: { topic: string; partition: number; start_offset: number; end_offset: number }[];
  files: BackupFile[];
}

export const manifestPath = (directory: string) => `${directory}/manifest.json`;
export const partialPath = (directory: string) => `${directory}/partial.ndjson`;

/** Throws CliError where there is no complete backup. */
export function readManifest(directory: string): Manifest {
  let text: string;
  try {
    text = fs.readFileSync(manifestPath(directory), "utf8");
  } catch {
    throw new CliError(
      fs.existsSync(partialPath(directory))
        ? `the backup in "${directory}" was not finished; run "rowlog backup" again, which goes on with it`
        : `there is no backup in "${directory}": it has no manifest.json`,
    );
  }
  const manifest = JSON.parse(text) as Manifest;
  if (manifest.format !== 1)
    throw new CliError(`the backup in "${directory}" has format ${manifest.format}; use a newer version of rowlog`);
  return manifest;
}

/** What an unfinished or an earlier backup has copied, by path. Takes the manifest away: from here on the backup is being made. */
export function takeOver(directory: string): Map<string, BackupFile> {
  const known = new Map<string, BackupFile>();
  const note = (file: BackupFile) => {
    if (statSize(`${directory}/lake/${file.path}`) === file.bytes) known.set(file.path, file);
  };
  if (fs.existsSync(partialPath(directory)))
    for (const line of fs.readFileSync(partialPath(directory), "utf8").split("\n")) {
      try {
        if (line !== "") note(JSON.parse(line) as BackupFile);
      } catch {
        // The line that was being written.
      }
    }
  else if (fs.existsSync(manifestPath(directory))) for (const file of readManifest(directory).files) note(file);
  fs.mkdirSync(`${directory}/lake`, { recursive: true });
  fs.writeFileSync(partialPath(directory), [...known.values()].map((file) => `${JSON.stringify(file)}\n`).join(""));
  fs.rmSync(manifestPath(directory), { force: true });
  return known;
}

export function statSize(path: string): number | undefined {
  return fs.statSync(path, { throwIfNoEntry: false })?.size;
}

const pieceBytes = 1024 * 1024;

/**
 * Copies the first `bytes` of a file, synced, in place of what is at `to`; gives the checksum of what was copied. `seen` hears of the
 * bytes. Throws when there are fewer.
 */
export async function copyWithSum(
  from: string,
  to: string | undefined,
  bytes: number,
  seen: (bytes: number) => void,
): Promise<string> {
  const hash = createHash("sha256");
  const piece = new Uint8Array(Math.min(pieceBytes, Math.max(bytes, 1)));
  const source = fs.openSync(from, "r");
  const temporary = to && `${to}.part`;
  if (temporary) fs.mkdirSync(dirname(temporary), { recursive: true });
  const target = temporary ? fs.openSync(temporary, "w") : undefined;
  try {
    for (let at = 0; at < bytes; ) {
      const got = fs.readSync(source, piece, 0, Math.min(piece.length, bytes - at), at);
      if (got === 0) throw new CliError(`${from} has ${at} bytes, ${bytes} are expected`);
      const part = piece.subarray(0, got);
      hash.update(part);
      for (let done = 0; target !== undefined && done < got; ) done += fs.writeSync(target, part, done);
      at += got;
      seen(got);
      // Lets a signal be heard.
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (target !== undefined) fs.fsyncSync(target);
  } finally {
    fs.closeSync(source);
    if (target !== undefined) fs.closeSync(target);
  }
  if (temporary) fs.renameSync(temporary, to!);
  return hash.digest("hex");
}

export function syncFolders(directory: string): void {
  for (const entry of fs.readdirSync(directory, { withFileTypes: true }))
    if (entry.isDirectory()) syncFolders(`${directory}/${entry.name}`);
  const handle = fs.openSync(directory, "r");
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

/** The backup is complete with this. */
export function writeManifest(directory: string, manifest: Manifest): void {
  const sums = manifest.files.map(({ path, sha256 }) => `${sha256}  lake/${path}\n`).join("");
  fs.writeFileSync(`${directory}/SHA256SUMS`, sums, { flush: true });
  const path = manifestPath(directory);
  fs.writeFileSync(`${path}.tmp`, `${JSON.stringify(manifest, undefined, 1)}\n`, { flush: true });
  syncFolders(directory);
  fs.renameSync(`${path}.tmp`, path);
  fs.rmSync(partialPath(directory), { force: true });
  syncFolders(directory);
}
