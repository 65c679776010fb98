import type { FormEvent } from "react";
import { useMutation } from "urql";
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
    <form className="sign-in" onSubmit={submit}>
      <h1>Runs</h1>
      {ended && !error && <p className="note">Your session has ended. Please sign in again.</p>}
      <input name="username" placeholder="User name" autoComplete="username" required />
      <input
        name="password"
        type="password"
        placeholder="Password"
        autoComplete="current-password"
        required
      />
      <Trouble error={error} />
      <button disabled={fetching}>Sign in</button>
    </form>
  );
}
