import type { FormEvent } from "react";
import { useMutation } from "urql";
import { Button } from "./parts.tsx";
import { Trouble } from "./errors.tsx";
import { graphql } from "./generated/index.ts";

const signInMutation = graphql(`
  mutation SignIn($input: LoginInput!) {
    login(input: $input) {
      token
    }
  }
`);

export function SignIn({ ended, onToken }: { ended: boolean; onToken: (token: string) => void }) {
  const [{ fetching, error }, signIn] = useMutation(signInMutation);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const input = { username: String(form.get("username")), password: String(form.get("password")) };
    const { data } = await signIn({ input });
    if (data?.login) onToken(data.login.token);
  }

  return (
    <main className="sign-in">
      <title>Sign in – Runs</title>
      <form className="panel" onSubmit={submit}>
        <h1>Runs</h1>
        {ended && !error && (
          <p className="note" role="status">
            Your session has ended. Please sign in again.
          </p>
        )}
        <label>
          User name
          <input name="username" autoComplete="username" autoCapitalize="none" required autoFocus />
        </label>
        <label>
          Password
          <input name="password" type="password" autoComplete="current-password" required />
        </label>
        <Trouble error={error} />
        <Button className="primary" isOff={fetching}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
