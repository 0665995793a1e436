/** A lake as commands see it from outside: whether a node runs on it and where, and its files while none does. */
import * as fs from "node:fs";
import { type DirectoryLock, LockError, lockDirectory } from "../platform/lock.ts";
import { stageName } from "./backup_stage.ts";
import { CliError } from "./io.ts";

/** Written by a running node: how to reach it. */
const addressFile = ".node.json";

export function writeNodeAddress(lake: string, http: string): void {
  fs.writeFileSync(`${lake}/${addressFile}`, `${JSON.stringify({ pid: process.pid, http })}\n`);
}

export function removeNodeAddress(lake: string): void {
  fs.rmSync(`${lake}/${addressFile}`, { force: true });
}

/** The HTTP address of the node that runs on the lake, where it has said so. */
export function nodeAddress(lake: string): string | undefined {
  try {
    return (JSON.parse(fs.readFileSync(`${lake}/${addressFile}`, "utf8")) as { http?: string }).http;
  } catch {
    return undefined;
  }
}

/** Throws CliError for what is no lake. */
export function requireLake(lake: string): void {
  if (!fs.existsSync(`${lake}/catalog`))
    throw new CliError(
      `"${lake}" is not a lake: it has no catalog; give the folder that "rowlog serve" was started on`,
    );
}

/** The lake's lock, or undefined when a node runs on it. */
export function tryLock(lake: string): DirectoryLock | undefined {
  try {
    return lockDirectory(lake);
  } catch (error) {
    if (error instanceof LockError) return undefined;
    throw error;
  }
}

/** For commands that need the lake for themselves. */
export function lockForOffline(lake: string, command: string): DirectoryLock {
  requireLake(lake);
  const lock = tryLock(lake);
  if (lock === undefined) throw new CliError(`a node runs on "${lake}"; stop it first: ${command} reads its files`);
  return lock;
}

/** The files of a lake that no node runs on, but for those that a start does without. Paths are relative to the lake. */
export function lakeFiles(lake: string): { path: string; bytes: number }[] {
  const files: { path: string; bytes: number }[] = [];
  const visit = (folder: string) => {
    for (const entry of fs.readdirSync(`${lake}/${folder}`, { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (isLeftOut(path)) continue;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile()) files.push({ path, bytes: fs.statSync(`${lake}/${path}`).size });
    }
  };
  visit("");
  return files;
}

function isLeftOut(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (path === stageName || name.startsWith(".")) return true;
  return path === "log/rowlog-ballast" || name.endsWith(".cut") || name.endsWith("-delete") || name.endsWith(".tmp");
}
