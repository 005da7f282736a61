-- Puts or gets the snapshot of a key: "EPOCH POSITION\nBYTES". It is kept only while its log can go on after it.
local log, snapshot = KEYS[1], KEYS[2]
local epoch, position, bytes, seconds = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local head = redis.call('LINDEX', log, 0)
if not head then return false end
local log_epoch, base, begin = string.match(head, '^(%x+) (%d+) (%d+)')
local count = tonumber(base) + redis.call('LLEN', log) - 1

local function can_follow(known_epoch, place)
  return known_epoch == log_epoch and place >= tonumber(base) and place > tonumber(begin) and place <= count
end

if epoch ~= '' then
  if can_follow(epoch, position) then
    redis.call('SET', snapshot, epoch .. ' ' .. position .. '\n' .. bytes, 'EX', seconds)
  end
  return false
end
local known_epoch, place = string.match(redis.call('GETRANGE', snapshot, 0, 63), '^(%x+) (%d+)\n')
if known_epoch and can_follow(known_epoch, tonumber(place)) then return redis.call('GET', snapshot) end
return false
