/**
 * Takes files of segments away. A file of records loses its name at once and its space later, off the thread: the system takes
 * hundreds of milliseconds to give back a gigabyte, during which nobody would be served.
 */
import type { LogContext } from "./context.ts";

/** What is left with this ending (Kafka's) by a crash goes at the next start. */
export const discardedEnding = ".deleted";

/**
 * Renames the file, if it is there, so that it does not count any more, and removes it; resolves when it is gone. Throws a DiskError when it
 * cannot be renamed. A removal that fails is tried again at the next start.
 */
export function discard({ disk, files, logger }: LogContext, path: string): Promise<void> {
  files.drop(path);
  if (!disk.stat(path)) return Promise.resolve();
  const doomed = path + discardedEnding;
  disk.rename(path, doomed);
  return disk.removeTreeLater(doomed).catch((error: Error) => {
    logger.warn("could not remove a file; the next start will", { file: doomed, reason: error.message });
  });
}
