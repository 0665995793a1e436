/** Waiting for a log to be durable. */
import { limits } from "../base/limits.ts";
import type { PartitionLog } from "../log/partition_log.ts";

/** Resolves when the log is durable up to `end`, or to its own end where an append that failed took records back. */
export function durableUpTo(log: PartitionLog, end: number): Promise<void> {
  const isThere = () => log.highWatermark >= Math.min(end, log.logEndOffset);
  if (isThere()) return Promise.resolve();
  return new Promise((resolve) => {
    const check = () => {
      if (!isThere()) return;
      stop();
      clearInterval(timer);
      resolve();
    };
    // Nobody tells of appends that failed.
    const timer = setInterval(check, limits.applierRetryMsMin);
    const stop = log.onAdvance(check);
  });
}
