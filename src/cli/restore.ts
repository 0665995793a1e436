/**
 * `rowlog restore DIR LAKE`: makes a lake out of a backup, and checks each file against its checksum on the way. The lake appears at its
 * place at once and whole, or not at all.
 */
import * as fs from "node:fs";
import { copyWithSum, type Manifest, readManifest, syncFolders } from "./backup_files.ts";
import { CliError, type Io, UsageError } from "./io.ts";
import { Progress } from "./progress.ts";

export interface RestoreFlags {
  dry?: boolean;
}

export async function restore(
  directory: string,
  lake: string | undefined,
  flags: RestoreFlags,
  io: Io,
): Promise<number> {
  if (lake === undefined && !flags.dry) throw new UsageError("name the LAKE to make, or check the backup with --dry");
  const manifest = readManifest(directory);
  const target = flags.dry ? undefined : lake;
  if (target !== undefined && fs.existsSync(target) && fs.readdirSync(target).length > 0)
    throw new CliError(`"${target}" is not empty; restore into a new folder`);
  const making = target && `${target}.restoring`;
  if (making) fs.rmSync(making, { recursive: true, force: true });
  const damaged = await copyAll(directory, manifest, making, io);
  if (damaged.length > 0) {
    if (making) fs.rmSync(making, { recursive: true, force: true });
    for (const path of damaged) io.err(`rowlog: ${directory}/lake/${path} is not as it was backed up\n`);
    throw new CliError(
      `${damaged.length} of ${manifest.files.length} files are damaged${target ? "; nothing was restored" : ""}`,
    );
  }
  if (making) {
    syncFolders(making);
    if (fs.existsSync(target!)) fs.rmdirSync(target!);
    fs.renameSync(making, target!);
  }
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  await io.out(`${manifest.files.length} files, ${bytes} bytes: ${target ? "restored" : "good"}\n`);
  return 0;
}

/** Paths of files whose content is not what the manifest says. */
async function copyAll(directory: string, manifest: Manifest, to: string | undefined, io: Io): Promise<string[]> {
  const progress = new Progress(io);
  const total = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  const damaged: string[] = [];
  const seen = (bytes: number) => {
    done += bytes;
    progress.update({ label: "restore", done, total, unit: "B" });
    if (io.signal.aborted) throw new CliError("interrupted", 130);
  };
  if (to) fs.mkdirSync(to, { recursive: true });
  for (const { path, bytes, sha256 } of manifest.files) {
    const from = `${directory}/lake/${path}`;
    const size = fs.statSync(from, { throwIfNoEntry: false })?.size;
    if (size !== bytes || (await copyWithSum(from, to && `${to}/${path}`, bytes, seen)) !== sha256) damaged.push(path);
  }
  progress.end();
  return damaged;
}
