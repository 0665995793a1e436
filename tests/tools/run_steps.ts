/** Runs the steps against one broker. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { normalize } from "./normalize.ts";
import { type Step, steps } from "./steps.ts";
import type { ToolRunner } from "./tool_runner.ts";

export interface StepResult {
  status: number;
  output: string[];
}

export async function runStep(runner: ToolRunner, step: Step, bootstrap: string, folder: string): Promise<StepResult> {
  const place = (text: string) => text.replaceAll("BOOTSTRAP", bootstrap).replaceAll("FOLDER", folder);
  if (step.file !== undefined) writeFileSync(join(folder, step.file.name), step.file.text);
  const { status, output, errors } = await runner.run(step.tool, step.parameters.map(place), step.input);
  return { status, output: normalize(step, output, errors).replaceAll(folder, "FOLDER").split("\n") };
}

/** All steps in order: results by `TOOL: NAME`. */
export async function runSteps(runner: ToolRunner, bootstrap: string): Promise<Map<string, StepResult>> {
  const folder = mkdtempSync(join(tmpdir(), "rowlog-tools-"));
  const results = new Map<string, StepResult>();
  try {
    for (const step of steps) results.set(stepName(step), await runStep(runner, step, bootstrap, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return results;
}

export function stepName(step: Step): string {
  return `${step.tool}: ${step.name}`;
}
