/** The system's bound on files and sockets that this process may have open. */
import { readFileSync } from "node:fs";

/** The soft limit now; Infinity where the system does not tell. */
export function openFilesMax(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    // "Max open files            1024                 4096                 files", or unlimited.
    const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
    return soft > 0 ? soft : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
