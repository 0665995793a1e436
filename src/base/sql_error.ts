/**
 * An SQL failure as every door reports it.
 * `sqlstate`: five letters of SQL's standard and PostgreSQL's list; `position`: 1-based character in the statement text.
 */
export class SqlError extends Error {
  readonly sqlstate: string;
  readonly position: number | undefined;

  constructor(sqlstate: string, message: string, position?: number) {
    super(message);
    this.name = "SqlError";
    this.sqlstate = sqlstate;
    this.position = position;
  }
}
