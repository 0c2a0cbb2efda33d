import { run } from './cli.mjs';

// not process.exit: standard output may still be draining into a pipe
process.exitCode = await run(process.argv.slice(2));
