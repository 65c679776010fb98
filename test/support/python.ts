import { execFileSync } from "node:child_process";

/** Finds a Python program that can import a module: the first one in the `PATH`, or Debian's. Null if there is none. */
export function findPython(module: string): string | null {
  for (const program of ["python3", "/usr/bin/python3"]) {
    try {
      const script = `import sys, ${module}; print(sys.executable)`;
      return execFileSync(program, ["-c", script], { encoding: "utf8", stdio: "pipe" }).trim();
    } catch {
      // The next program may have the module.
    }
  }
  return null;
}
