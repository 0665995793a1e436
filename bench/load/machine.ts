/** What Linux tells of a process and of this machine. Figures are 0 on systems without /proc. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";

/** Ticks a second in /proc; the same on every Linux that Bun runs on. */
const ticksPerSecond = 100;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Seconds of processor time, user and system, of a process and its threads since its start. */
export function cpuSeconds(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  // The command's name, in parentheses, may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond;
}

function statusMib(pid: number, name: string): number {
  const found = new RegExp(`${name}:\\s+(\\d+)`).exec(read(`/proc/${pid}/status`));
  return Number(found?.[1] ?? 0) / 1024;
}

export const residentMib = (pid: number): number => statusMib(pid, "VmRSS");
export const peakMib = (pid: number): number => statusMib(pid, "VmHWM");

export function openFiles(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

function firstLine(program: string, parameters: string[]): string {
  const { stdout, stderr } = spawnSync(program, parameters, { encoding: "utf8" });
  return `${stdout ?? ""}${stderr ?? ""}`.split("\n")[0]?.trim() ?? "";
}

/** Lines for the head of a report: processor, memory, system, versions of the runtimes. */
export function machineLines(): string[] {
  const processors = cpus();
  return [
    `${processors.length} processors (${processors[0]?.model.trim() ?? "unknown"}), ${Math.round(totalmem() / 2 ** 30)} GiB of memory, ${process.platform} ${release()}`,
    `Bun ${process.versions.bun ?? "not used"}; ${firstLine("java", ["-version"]) || "no Java"}`,
  ];
}
