-- Appends a request to the log of a key, unless the log is another one than the process knows, and returns what is new.
--
-- A log is a list: its first element is "EPOCH BASE BEGIN UNTOLD LOST …", the others are entries, "MARK STRAYS\nREQUEST".
-- BASE counts the entries that were dropped before the first one, BEGIN those before the World began: a World can be made
-- from the log while both are equal. STRAYS counts the requests without a World that came before the entry. LOST are the
-- epochs of logs of this key that are gone: an entry notes that once, and who followed one of them can follow this log.
-- UNTOLD is 1 from then on until a request is refused for it, 0 at all other times.
local record, log, strays, snapshot = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local known_record, known_epoch, position = ARGV[1], ARGV[2], tonumber(ARGV[3])
local known_stray_epoch, stray_position = ARGV[4], tonumber(ARGV[5])
local request, mark, is_reset, is_repeated = ARGV[6], ARGV[7], ARGV[8] == '1', ARGV[9] == '1'
local new_epoch, seconds, page, most = ARGV[10], ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13])
local expected = tonumber(ARGV[14]) -- the position after what the process has sent together with this
local last_mark, is_refusable = ARGV[15], ARGV[16] == '1'
local is_bound = ARGV[17] == '1' -- to the World at `position`: nothing is appended if that has been reset since

local function read_head(key)
  local head = redis.call('LINDEX', key, 0)
  if not head then return '', 0, 0, 0, 0, '' end
  local epoch, base, begin, untold, lost = string.match(head, '^(%x+) (%d+) (%d+) (%d)(.*)$')
  base = tonumber(base)
  return epoch, base, base + redis.call('LLEN', key) - 1, tonumber(begin), tonumber(untold), lost
end

if redis.call('GET', record) ~= known_record then return {'other'} end
local epoch, base, count, begin, untold, lost = read_head(log)
local function make_head(new_base)
  return table.concat({epoch, new_base, begin, untold}, ' ') .. lost
end
local stray_epoch, stray_base, stray_count = read_head(strays)
local is_gone = known_epoch ~= '' and (epoch ~= known_epoch or count < position)
if not is_gone and known_epoch ~= '' and last_mark ~= '' and position > base then
  local line = redis.call('LINDEX', log, position - base)
  is_gone = not (line and string.find(line, last_mark, 1, true) == 1)
end
if is_gone then
  if log == strays or string.find(lost, known_epoch, 1, true) then return {'moved'} end
  lost, untold = lost .. ' ' .. known_epoch, is_refusable and 0 or 1
  if epoch == '' then
    epoch = new_epoch
    redis.call('RPUSH', log, make_head(base))
  else
    if epoch == known_epoch then epoch = new_epoch end
    redis.call('LSET', log, 0, make_head(base))
  end
  redis.call('RPUSH', log, 'lost ' .. stray_count .. '\n')
  redis.call('EXPIRE', log, seconds)
  return {'gone'}
end
local is_late = log ~= strays and base > begin and (known_epoch ~= epoch or position < base)
if is_late and not is_reset then return {'late', base - begin} end
if is_bound and begin > 0 and begin >= position then request = '' end -- the reset is the entry after BEGIN
local stray_from = stray_epoch == known_stray_epoch and math.max(stray_position, stray_base) or stray_base
local last_stray = stray_count

local own, is_found = 0, false
if is_repeated then
  local first = math.max(position - base, 0) + 1
  for place, line in ipairs(redis.call('LRANGE', log, first, -1)) do
    if string.find(line, mark, 1, true) == 1 then own, is_found = base + first + place - 1, true end
  end
end
if untold == 1 and is_refusable and not is_found then
  untold = 0
  redis.call('LSET', log, 0, make_head(base))
  redis.call('EXPIRE', log, seconds)
  return {'untold'}
end
if request ~= '' and not is_found then
  local line = mark .. ' ' .. stray_count .. '\n' .. request
  if epoch == '' then
    epoch = new_epoch
    redis.call('RPUSH', log, make_head(base), line)
  elseif is_reset then
    base, begin, untold = count, count, 0
    redis.call('DEL', log, snapshot)
    redis.call('RPUSH', log, make_head(base), line)
  else
    redis.call('RPUSH', log, line)
  end
  count = count + 1
  own = count
end

local from = known_epoch == epoch and math.max(expected < count and expected or position, base) or base
local to = (own > 0 and not is_found) and own - 1 or count
local tail = {}
if to > from then
  tail = redis.call('LRANGE', log, from - base + 1, math.min(to, from + page) - base)
end
local stray_tail = {}
if log ~= strays and last_stray > stray_from then
  stray_tail = redis.call('LRANGE', strays, stray_from - stray_base + 1, -1)
end
if count - base > most then
  local dropped = count - base - math.floor(most / 2)
  redis.call('LTRIM', log, dropped, -1)
  redis.call('LSET', log, 0, make_head(base + dropped))
end
redis.call('EXPIRE', log, seconds)
redis.call('EXPIRE', strays, seconds)
redis.call('EXPIRE', snapshot, seconds)
redis.call('EXPIRE', record, seconds)
return {'ok', epoch, base, from, tail, own, count, stray_count, stray_epoch, stray_from, stray_tail}
