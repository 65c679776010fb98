/*
 * The scripts that Redis runs. Each replies with one text. Their last argument is the time in milliseconds; empty: that of
 * Redis, on which processes agree.
 */

const NOW = `
local now = tonumber(ARGV[#ARGV])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** The epoch of a token, which begins if there is none: KEYS[1], with the name ARGV[1], kept for ARGV[2]. */
const EPOCH_OF = `
local epoch = redis.call('GET', KEYS[1])
if not epoch then
  epoch = ARGV[1]
  redis.call('SET', KEYS[1], epoch, 'PX', ARGV[2])
end
`;

export const EPOCH = `${EPOCH_OF}
return epoch
`;

/**
 * Looks for a response (KEYS[2]) of the present epoch that is younger than ARGV[3], and otherwise takes the turn to ask
 * (KEYS[3]) for ARGV[4], unless that is 0. If ARGV[5] is 1, what is kept follows although it is older. Replies with F, its age and the response, with A, the epoch and the time, or with W: another one asks.
 */
export const ASK = `${NOW}${EPOCH_OF}
local kept = redis.call('GET', KEYS[2])
if kept then
  local of, began = string.match(kept, '^(%S+) (%d+) ')
  if of == epoch and math.abs(now - tonumber(began)) < tonumber(ARGV[3]) then
    return string.format('F%.0f ', math.max(0, now - tonumber(began))) .. kept
  end
end
if tonumber(ARGV[4]) > 0 then
  local turn = redis.call('GET', KEYS[3])
  if turn then
    local of, till = string.match(turn, '^(%S+) (%d+)$')
    if of == epoch and tonumber(till) > now then return 'W' end
  end
  redis.call('SET', KEYS[3], string.format('%s %.0f', epoch, now + ARGV[4]), 'PX', ARGV[4] * 10)
end
local answer = string.format('A%s %.0f', epoch, now)
if ARGV[5] == '1' and kept and string.sub(kept, 1, #epoch + 1) == epoch .. ' ' then answer = answer .. ' ' .. kept end
return answer
`;

/** The response KEYS[2] if it is of the present epoch, behind its age. */
export const LAST = `${NOW}
local kept = redis.call('GET', KEYS[2]) or ''
local of, began = string.match(kept, '^(%S+) (%d+) ')
if not of or of ~= redis.call('GET', KEYS[1]) then return '' end
return string.format('F%.0f ', math.max(0, now - tonumber(began))) .. kept
`;

/**
 * Keeps the response ARGV[2] of the epoch ARGV[1], which was asked for at ARGV[4], for ARGV[3], unless that epoch is over or a
 * later one is there. Ends the turn.
 */
export const OFFER = `
redis.call('DEL', KEYS[3])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'late' end
local of, began = string.match(redis.call('GETRANGE', KEYS[2], 0, 99), '^(%S+) (%d+) ')
if of == ARGV[1] and tonumber(began) > tonumber(ARGV[4]) then return 'older' end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 'kept'
`;

/**
 * Takes up to ARGV[4] requests, behind ARGV[5] others, from a log of times (KEYS[1]), as in \`rate.ts\`: ARGV[1] in a period of
 * ARGV[3], of which ARGV[2] may be sent at once. Replies with what is granted, when the next is, and how long the service
 * has asked for a pause (KEYS[2]).
 */
export const TAKE = `${NOW}
local paused = tonumber(redis.call('GET', KEYS[2]) or 0) - now
if paused > 0 then return string.format('0 0 %.0f', paused) end
local requests, atOnce, period = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local wanted, ahead = tonumber(ARGV[4]), tonumber(ARGV[5])
while tonumber(redis.call('LINDEX', KEYS[1], 0) or now) <= now - period do redis.call('LPOP', KEYS[1]) end
local sent = redis.call('LLEN', KEYS[1])
local granted, wait = 0, 0
while granted < wanted do
  local at = now
  if sent + ahead >= atOnce then
    local free = requests - sent
    if free > ahead then
      local oldest = tonumber(redis.call('LINDEX', KEYS[1], 0) or now)
      local latest = tonumber(redis.call('LINDEX', KEYS[1], -1) or now)
      at = latest + (oldest + period - latest) * (ahead + 1) / (free + 1)
    else
      at = (tonumber(redis.call('LINDEX', KEYS[1], ahead - free)) or now) + period
    end
  end
  if at > now then
    wait = math.ceil(at - now)
    break
  end
  redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
  granted = granted + 1
  sent = sent + 1
end
redis.call('PEXPIRE', KEYS[1], 2 * period)
return string.format('%d %d 0', granted, wait)
`;

/** Counts a request in the log KEYS[1], kept for ARGV[2], or gives the last one back: ARGV[1] is 1 or -1. */
export const COUNT = `${NOW}
if ARGV[1] == '1' then redis.call('RPUSH', KEYS[1], string.format('%.0f', now)) else redis.call('RPOP', KEYS[1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'ok'
`;

/** Lengthens a pause (KEYS[1]) to ARGV[1] from now on. */
export const PAUSE = `${NOW}
local till = now + ARGV[1]
if till > tonumber(redis.call('GET', KEYS[1]) or 0) then
  redis.call('SET', KEYS[1], string.format('%.0f', till), 'PX', math.max(1, math.ceil(tonumber(ARGV[1]))))
end
return 'ok'
`;
