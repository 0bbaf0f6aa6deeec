-- Runs functions of scripts within their limits. It is given the most instructions and the codec, and returns a table of
-- functions.
--
-- The hook of the interpreter counts instructions. Once there were too many it raises an error at each further one, so
-- that no pcall of a script goes on; only what must settle the call is let through.

local MAX_INSTRUCTIONS, codec = ...

local MAX_MESSAGE = 2000
local MAX_FRAMES = 20

local getinfo, sethook, xpcall, error, type, tostring = debug.getinfo, debug.sethook, xpcall, error, type, tostring
local concat, format, sub, find, match = table.concat, string.format, string.sub, string.find, string.match

-- What Lua has, and scripts have not: who uses it is told so.
local MISSING = {
  os = true, io = true, debug = true, coroutine = true, package = true, load = true, loadstring = true,
  loadfile = true, dofile = true, collectgarbage = true, warn = true,
}

-- By the names of chunks, such as "@shop.bar/ext/lua/init.lua": {chart, file}.
local sources = {}
-- By functions: they are let through.
local settling = {}
-- Faults that were raised as they are: a script can make no such table.
local raised_faults = setmetatable({}, { __mode = "k" })
-- What went too far, or nil.
local excess = nil
local trip

local function place_of(info)
  local source = info.source and sources[info.source]
  return source and { chart = source.chart, file = source.file, line = info.currentline }
end

local function frame_text(info)
  local source = sources[info.source]
  if not source then return nil end
  local name = info.what == "main" and "the file itself" or info.name and "function " .. info.name or "a function"
  return format("%s%s:%d: in %s", source.chart ~= "" and source.chart .. ": " or "", source.file, info.currentline, name)
end

-- Say where the scripts are: from `level` of the caller on, innermost first.
local function frames(level)
  local found, places, prefixes = {}, {}, {}
  while #found < MAX_FRAMES do
    local info = getinfo(level, "Sln")
    if not info then break end
    local text = frame_text(info)
    if text then
      found[#found + 1] = text
      places[#places + 1] = place_of(info)
      prefixes[#prefixes + 1] = info.short_src .. ":" .. info.currentline .. ": "
    end
    level = level + 1
  end
  return found, places, prefixes
end

local function fault_of(message, found, place, is_excess)
  place = place or { chart = "", file = "", line = 0 }
  return {
    message = codec.cut(message, MAX_MESSAGE), traceback = concat(found, "\n"), is_excess = is_excess,
    chart = place.chart, file = place.file, line = place.line,
  }
end

-- Make of an error what is told of it. A value that is no text is not asked for one: that would run a script's code.
local function explain(raised)
  if excess then return excess end
  local kind = type(raised)
  if kind == "table" and raised_faults[raised] then return raised end
  local message = kind == "string" and raised or kind == "number" and tostring(raised)
    or "an error was raised that is no text but a " .. kind
  local found, places, prefixes = frames(3)
  local place = places[1]
  for index = 1, #prefixes do
    local prefix = prefixes[index]
    if sub(message, 1, #prefix) == prefix then
      message, place = sub(message, #prefix + 1), places[index]
      break
    end
  end
  -- Functions of ours that hand on to Lua's stand between these and the script.
  message = match(message, "^environment:%d+: (.*)$") or message
  local name = match(message, "^attempt to %a+ a nil value %(global '([%a_]+)'%)$")
  if name and MISSING[name] then message = "there is no " .. name .. " in scripts" end
  return fault_of(message, found, place, false)
end

-- Make a fault of an error that has no place.
local function fault_of_error(raised)
  if type(raised) == "string" and find(raised, "not enough memory", 1, true) then
    return fault_of("needs more memory than Lua may have", {}, nil, true)
  end
  return fault_of(type(raised) == "string" and raised or "an error was raised while another one was told", {}, nil, false)
end

-- Raise an error that `call` tells as it is.
local function raise(message, place)
  local fault = fault_of(message, {}, place, false)
  raised_faults[fault] = true
  error(fault, 0)
end

-- Return what is wrong with a call, or nothing.
local function call(f, ...)
  excess = nil
  sethook(trip, "", MAX_INSTRUCTIONS)
  local ok, fault = xpcall(f, explain, ...)
  sethook()
  if excess then return excess end
  if ok then return nil end
  if type(fault) == "table" then return fault end
  -- Lua tells of these without asking `explain`, and does not say where.
  return fault_of_error(fault)
end

for _, f in next, { place_of, frame_text, frames, fault_of, explain, call, codec.cut } do settling[f] = true end

function trip()
  if settling[getinfo(2, "f").func] then return end
  if not excess then
    local found, places = frames(3)
    excess = fault_of(format("needs more than %d million instructions", MAX_INSTRUCTIONS // 1000000), found, places[1], true)
    sethook(trip, "", 1)
  end
  error("too many instructions", 0)
end

local function place_at(level)
  return place_of(getinfo(level + 1, "Sl") or {})
end

return {
  call = call, raise = raise, raised_faults = raised_faults, fault_of_error = fault_of_error,
  sources = sources, place_at = place_at,
}
