/** `qualify calibrate`: how finely differences can be told apart here. */
import type { Command } from 'commander';
export function register(program: Command): void {
  program.command('calibrate');
}
