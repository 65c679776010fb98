import { superuser } from "./access.ts";
import { fieldsOf } from "./body.ts";
import { type Answer, empty, type Exchange, json, notFound, Refusal } from "./exchange.ts";
import type { User } from "./model.ts";
import { forgetUser } from "./removal.ts";

export function login({ world, body }: Exchange): Answer {
  const fields = fieldsOf(body());
  const faults = Object.fromEntries(
    ["username", "password"].flatMap((name) => {
      const fault = credentialFault(fields[name]);
      return fault ? [[name, [fault]]] : [];
    }),
  );
  if (Object.keys(faults).length > 0) throw new Refusal(400, faults);
  const user = world.users.get(String(fields["username"]));
  if (!user?.isActive || user.password !== fields["password"]) {
    throw new Refusal(400, { non_field_errors: ["Unable to log in with provided credentials."] });
  }
  return json(200, { token: user.token });
}

function credentialFault(value: unknown): string | null {
  if (value === undefined) return "This field is required.";
  if (value === null) return "This field may not be null.";
  if (value === "") return "This field may not be blank.";
  return typeof value === "string" || typeof value === "number" ? null : "Not a valid string.";
}

/** The caller. Nobody gets an answer as well: an empty name and no address. */
export function viewer({ caller }: Exchange): Answer {
  if (!caller) return json(200, { username: "", is_superuser: false });
  return json(200, { username: caller.username, email: caller.email, is_superuser: caller.isSuperuser });
}

export function activate(exchange: Exchange): Answer {
  subject(exchange).isActive = true;
  return empty(200);
}

export function grantSuperuser(exchange: Exchange): Answer {
  subject(exchange).isSuperuser = true;
  return empty(200);
}

export function revokeSuperuser(exchange: Exchange): Answer {
  subject(exchange).isSuperuser = false;
  return empty(200);
}

export function deleteUser(exchange: Exchange): Answer {
  forgetUser(exchange.world, subject(exchange));
  return empty(204);
}

/** The user of the path, for a caller who may change users. */
function subject(exchange: Exchange): User {
  superuser(exchange);
  const user = exchange.world.users.get(exchange.params["username"] ?? "");
  if (!user) throw notFound();
  return user;
}
