-- What the scripts of a chart see as globals. It is given the codec and the host, and returns a table of functions.
--
-- Every chart has a copy of all tables here, so none can change what another one calls. The host has `line(text)`, which
-- takes what is printed, `warning(text)`, `yaml_decode(text)` and `yaml_encode(text)`, which go by way of JSON.

local codec, host = ...

local MAX_REPEATED = 1024 * 1024
local MAX_LINE = 4096

local concat, unpack, rep = table.concat, table.unpack, string.rep
local error, getmetatable, next, pcall, select, setmetatable = error, getmetatable, next, pcall, select, setmetatable
local rawequal, rawget, rawset, tonumber, tostring, type = rawequal, rawget, rawset, tonumber, tostring, type
local raw_ipairs, format, raw_meta = ipairs, string.format, debug.getmetatable
local gmatch, gsub, find = string.gmatch, string.gsub, string.find

local function copy(table, ...)
  local made = {}
  for key, value in next, table do made[key] = value end
  for _, key in raw_ipairs({ ... }) do made[key] = nil end
  return made
end

-- Raise an error that names the line of the script which called the caller.
local function refuse(reason)
  error(reason, 3)
end

-- Read-only tables ---------------------------------------------------------------------------------------------------

local frozen = setmetatable({}, { __mode = "k" })

-- Return a view of a table and all below it, which cannot be changed. `name` is what an error calls it; `methods` are
-- found in the view where the table has nothing of that name.
local function freeze(table, name, methods)
  if type(table) ~= "table" or rawequal(table, codec.null) then return table end
  if frozen[table] then return frozen[table] end
  local view = setmetatable({}, {
    __index = function(_, key)
      local value = rawget(table, key)
      if value == nil and methods then return methods[key] end
      return freeze(value, name)
    end,
    __newindex = function(_, key)
      error(name .. " cannot be changed: " .. (type(key) == "string" and key or "a key") .. " was assigned", 2)
    end,
    __len = function() return #table end,
    __metatable = false,
  })
  frozen[table] = view
  codec.shown[view] = table
  return view
end

-- Return what a handler sees of the files of its chart, by their names: texts, and null for what is no text.
local function files_of(files)
  local function get(name)
    local found = type(name) == "string" and rawget(files, name) or nil
    if found == nil then error("there is no file of this name in files/", 2) end
    if rawequal(found, codec.null) then error("this file is no text", 2) end
    return found
  end
  return freeze(files, "files", { get = get })
end

-- Functions that are safer than those of Lua -------------------------------------------------------------------------

local HAS_ADDRESS = { table = true, ["function"] = true, userdata = true, thread = true }

-- Return whether Lua would make a text of the value's address, which is another one in every process.
local function is_shown_by_address(value)
  if not HAS_ADDRESS[type(value)] then return false end
  local meta = raw_meta(value)
  return type(meta) ~= "table" or rawget(meta, "__tostring") == nil
end

local function text_of(...)
  if select("#", ...) == 0 then refuse("bad argument #1 to 'tostring' (value expected)") end
  local value = ...
  if is_shown_by_address(value) then return type(value) end
  return tostring(value)
end

local function formatted(form, ...)
  if type(form) ~= "string" or not find(form, "[sp]") then return format(form, ...) end
  local kinds = gsub(form, "%%%%", "")
  if find(kinds, "%%[^%a]*p") then refuse("string.format has no %p in scripts") end
  local given, index = { ... }, 0
  for conversion in gmatch(kinds, "%%[^%a%%]*(%a)") do
    index = index + 1
    if conversion == "s" and is_shown_by_address(given[index]) then given[index] = type(given[index]) end
  end
  return format(form, unpack(given, 1, select("#", ...)))
end

local function repeated(text, times, separator)
  -- Lua takes a text with a number in it for a number.
  local count = tonumber(times)
  if count and count > 0 and (type(text) == "string" or type(text) == "number") then
    local size = #tostring(text) + (separator ~= nil and #tostring(separator) or 0)
    if size * (count * 1.0) > MAX_REPEATED then refuse("string.rep gives at most 1 MiB") end
  end
  return rep(text, times, separator)
end

local function with_metatable(table, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then refuse("a metatable cannot have __gc") end
  if table == codec.null then refuse("null cannot be changed") end
  return setmetatable(table, meta)
end

local function raw_assign(table, key, value)
  if type(table) == "table" and (codec.shown[table] or rawequal(table, codec.null)) then
    refuse("this table cannot be changed")
  end
  return rawset(table, key, value)
end

local function raw_read(table, key)
  if type(table) == "table" and codec.shown[table] then return table[key] end
  return rawget(table, key)
end

local function settled_pairs(table)
  if type(table) ~= "table" then refuse("bad argument #1 to 'pairs' (table expected, got " .. type(table) .. ")") end
  local meta = getmetatable(table)
  local own = type(meta) == "table" and rawget(meta, "__pairs")
  if own then
    local step, state, start = own(table)
    return step, state, start
  end
  local read = codec.shown[table] and function(key) return table[key] end or function(key) return rawget(table, key) end
  local keys, index = codec.ordered_keys(codec.shown[table] or table), 0
  return function()
    while true do
      index = index + 1
      local key = keys[index]
      if key == nil then return nil end
      local value = read(key)
      if value ~= nil then return key, value end
    end
  end, table, nil
end

local function joined(...)
  local parts = {}
  for index = 1, select("#", ...) do
    parts[index] = text_of((select(index, ...)))
  end
  return codec.cut(concat(parts, "\t"), MAX_LINE)
end

local function fail(reason)
  error(type(reason) == "string" and reason or "fail was called without a text", 0)
end

-- Documents ----------------------------------------------------------------------------------------------------------

-- Make a function whose errors are texts that name the line of the script.
local function guarded(f, ...)
  local ok, found = pcall(f, ...)
  if ok then return found end
  error(type(found) == "string" and found or "this cannot be read", 3)
end

local json = {
  encode = function(value) return guarded(codec.encode, value, "the value") end,
  decode = function(text) return guarded(codec.decode, text) end,
  list = function(table)
    if type(table) ~= "table" or codec.shown[table] then refuse("json.list takes a table") end
    return codec.list(table)
  end,
}

local function read_yaml(text)
  if type(text) ~= "string" then error("a text is needed, and not a " .. type(text), 0) end
  local is_read, found = host.yaml_decode(text)
  if not is_read then error(found, 0) end
  return codec.decode(found)
end

local function write_yaml(value)
  return host.yaml_encode(codec.encode(value, "the value"))
end

local yaml = {
  encode = function(value) return guarded(write_yaml, value) end,
  decode = function(text) return guarded(read_yaml, text) end,
}

-- ---------------------------------------------------------------------------------------------------------------------

local function print_line(...)
  host.line(joined(...))
end

local log = {
  info = print_line,
  warning = function(...) host.warning(joined(...)) end,
}
local log_meta = { __call = function(_, ...) print_line(...) end, __metatable = false }

local text_library = copy(string, "dump")
text_library.rep, text_library.format = repeated, formatted
-- The same numbers in every process, so what a handler makes of them is the same after a takeover.
math.randomseed(0)

-- Methods of texts, such as ("x"):upper(), are found here by all charts, so nobody may change them.
local text_meta = getmetatable("")
text_meta.__index = copy(text_library)
text_meta.__metatable = false

local function make()
  local env = {
    _VERSION = _VERSION,
    assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, next = next, pairs = settled_pairs,
    pcall = pcall, rawequal = rawequal, rawget = raw_read, rawlen = rawlen, rawset = raw_assign, select = select,
    setmetatable = with_metatable, tonumber = tonumber, tostring = text_of, type = type, xpcall = xpcall,
    string = copy(text_library), table = copy(table), math = copy(math, "randomseed"), utf8 = copy(utf8),
    print = print_line, log = setmetatable(copy(log), log_meta), json = copy(json), yaml = copy(yaml),
    null = codec.null, fail = fail, subcharts = {},
  }
  env._G = env
  return env
end

return { make = make, freeze = freeze, files_of = files_of }
