-- JSON, and how tables keep what JSON knows of them. It is given nothing, and returns a table of functions.
--
-- What was decoded keeps its kind when it becomes empty, and its keys their order. Both stand beside the tables and not
-- in them, so scripts see plain tables. Everything here reads tables as they are and runs no metamethod, since it also
-- works where scripts are not limited.

local byte, char, find, format = string.byte, string.char, string.find, string.format
local gsub, match, sub, concat, sort = string.gsub, string.match, string.sub, table.concat, table.sort
local kind_of, next, rawget, tonumber, type = math.type, next, rawget, tonumber, type
local error, tostring, setmetatable, utf8_char, utf8_len = error, tostring, setmetatable, utf8.char, utf8.len

local MAX_BYTES = 8 * 1024 * 1024
local MAX_DEPTH = 64
-- The holes of a list are written as null, unless these would be most of it.
local MAX_HOLES = 64
-- Of the bytes of a text that are not UTF-8, so many are replaced.
local MAX_WRONG = 100
local MAX_KEY = 60

-- By tables: false for a list, and for an object its keys in their order.
local shapes = setmetatable({}, { __mode = "k" })
-- By read-only tables: what they show.
local shown = setmetatable({}, { __mode = "k" })

local null = setmetatable({}, {
  __index = function() error("null has no fields", 2) end,
  __newindex = function() error("null cannot be changed", 2) end,
  __tostring = function() return "null" end,
  __metatable = false,
})

local function list(table)
  shapes[table] = false
  return table
end

-- Texts for people ---------------------------------------------------------------------------------------------------

-- Shorten a text to so many bytes. No character is cut, since whoever masks secrets knows their characters.
local function cut(text, most)
  if #text <= most then return text end
  local last = most
  while last > most - 4 and find(text, "^[\x80-\xBF]", last + 1) do last = last - 1 end
  return sub(text, 1, last) .. "…"
end

-- Put a question mark in the place of each byte that is not UTF-8. Where there are very many, the rest is left out.
local function clean(text)
  local parts, at = {}, 1
  while true do
    local _, wrong_at = utf8_len(text, at)
    if not wrong_at then return concat(parts) .. sub(text, at) end
    if #parts > MAX_WRONG then return concat(parts) .. "…" end
    parts[#parts + 1] = sub(text, at, wrong_at - 1) .. "?"
    at = wrong_at + 1
  end
end

-- Decoding -----------------------------------------------------------------------------------------------------------

local ESCAPED = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }
local value_at

local function wrong(at, reason)
  error("not JSON at byte " .. at .. ": " .. reason, 0)
end

local function skip(text, at)
  return find(text, "[^ \t\r\n]", at) or #text + 1
end

local function unicode_at(text, at)
  local code = match(text, "^%x%x%x%x", at)
  if not code then wrong(at, "four hexadecimal digits must follow \\u") end
  return tonumber(code, 16)
end

local function escape_at(text, at)
  local letter = sub(text, at, at)
  if letter ~= "u" then
    return ESCAPED[letter] or wrong(at, "there is no such escape"), at + 1
  end
  local code = unicode_at(text, at + 1)
  if code >= 0xD800 and code < 0xDC00 and sub(text, at + 5, at + 6) == "\\u" then
    local low = unicode_at(text, at + 7)
    if low >= 0xDC00 and low < 0xE000 then
      return utf8_char(0x10000 + (code - 0xD800) * 1024 + low - 0xDC00), at + 11
    end
  end
  if code >= 0xD800 and code < 0xE000 then wrong(at, "half of a surrogate pair") end
  return utf8_char(code), at + 5
end

local function text_at(text, at)
  local stop = find(text, '["\\\0-\31]', at)
  if stop and byte(text, stop) == 34 then return sub(text, at, stop - 1), stop + 1 end
  local parts, count = {}, 0
  while true do
    if not stop then wrong(at, "a text has no end") end
    count = count + 1
    parts[count] = sub(text, at, stop - 1)
    local found = byte(text, stop)
    if found == 34 then return concat(parts), stop + 1 end
    if found ~= 92 then wrong(stop, "a control character in a text") end
    count = count + 1
    parts[count], at = escape_at(text, stop + 1)
    stop = find(text, '["\\\0-\31]', at)
  end
end

local function number_at(text, at)
  local whole, fraction, power = match(text, "^(-?%d+)(%.?%d*)([eE]?[+-]?%d*)", at)
  if not whole or find(whole, "^-?0%d") or fraction == "." or power ~= "" and not find(power, "^[eE][+-]?%d+$") then
    wrong(at, "no value")
  end
  local written = whole .. fraction .. power
  local number = tonumber(written)
  if number ~= number or number == 1 / 0 or number == -1 / 0 then wrong(at, "the number is too large") end
  return number, at + #written
end

local function list_at(text, at, depth)
  local found, count = {}, 0
  shapes[found] = false
  at = skip(text, at)
  if byte(text, at) == 93 then return found, at + 1 end
  while true do
    count = count + 1
    found[count], at = value_at(text, at, depth)
    at = skip(text, at)
    local after = byte(text, at)
    if after == 93 then return found, at + 1 end
    if after ~= 44 then wrong(at, "a comma or ] is missing") end
    at = skip(text, at + 1)
  end
end

local function object_at(text, at, depth)
  local found, keys, count = {}, {}, 0
  shapes[found] = keys
  at = skip(text, at)
  if byte(text, at) == 125 then return found, at + 1 end
  while true do
    if byte(text, at) ~= 34 then wrong(at, "a key is missing") end
    local key, start = nil, at
    key, at = text_at(text, at + 1)
    if found[key] ~= nil then wrong(start, "a key occurs twice") end
    at = skip(text, at)
    if byte(text, at) ~= 58 then wrong(at, "a colon is missing") end
    count = count + 1
    keys[count] = key
    found[key], at = value_at(text, skip(text, at + 1), depth)
    at = skip(text, at)
    local after = byte(text, at)
    if after == 125 then return found, at + 1 end
    if after ~= 44 then wrong(at, "a comma or } is missing") end
    at = skip(text, at + 1)
  end
end

local WORDS = { [116] = { "true", true }, [102] = { "false", false }, [110] = { "null", null } }

function value_at(text, at, depth)
  local first = byte(text, at)
  if first == 34 then return text_at(text, at + 1) end
  if first == 123 or first == 91 then
    if depth >= MAX_DEPTH then wrong(at, "nested deeper than " .. MAX_DEPTH .. " levels") end
    return (first == 123 and object_at or list_at)(text, at + 1, depth + 1)
  end
  local word = WORDS[first]
  if not word then return number_at(text, at) end
  if sub(text, at, at + #word[1] - 1) ~= word[1] then wrong(at, "no value") end
  return word[2], at + #word[1]
end

local function decode(text)
  if type(text) ~= "string" then error("a text is needed, and not a " .. type(text), 0) end
  local value, at = value_at(text, skip(text, 1), 0)
  at = skip(text, at)
  if at <= #text then wrong(at, "something follows the value") end
  return value
end

-- Encoding -----------------------------------------------------------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
for code = 0, 31 do
  ESCAPES[char(code)] = ESCAPES[char(code)] or format("\\u%04x", code)
end

local function path_of(out)
  local parts = { out.name }
  for depth = 1, out.depth do
    local key = out.path[depth]
    if key == nil then break end
    if type(key) == "string" and find(key, "^[%w_-]+$") then
      parts[#parts + 1] = "." .. key
    elseif type(key) == "string" then
      parts[#parts + 1] = '["' .. gsub(cut(key, MAX_KEY), '["\\\0-\31]', ESCAPES) .. '"]'
    else
      parts[#parts + 1] = "[" .. tostring(key) .. "]"
    end
  end
  return concat(parts)
end

local function refuse(out, reason)
  error(path_of(out) .. ": " .. reason, 0)
end

local function put(out, text)
  local count = out.count + 1
  out.count, out.size = count, out.size + #text
  out[count] = text
  if out.size > MAX_BYTES then error(out.name .. ": has more than " .. (MAX_BYTES >> 20) .. " MiB as JSON", 0) end
end

local function quoted(out, text)
  if not utf8_len(text) then refuse(out, "a text that is not UTF-8") end
  if find(text, '["\\\0-\31]') then text = gsub(text, '["\\\0-\31]', ESCAPES) end
  return '"' .. text .. '"'
end

local function number(out, value)
  if kind_of(value) == "integer" then return format("%d", value) end
  if value ~= value then refuse(out, "NaN is no number that JSON knows") end
  if value == 1 / 0 or value == -1 / 0 then refuse(out, "infinity is no number that JSON knows") end
  for digits = 15, 17 do
    local text = format("%." .. digits .. "g", value)
    if tonumber(text) == value then
      return find(text, "[.e]") and text or text .. ".0"
    end
  end
end

local write

local function write_item(out, key, value)
  out.path[out.depth] = key
  write(out, value)
end

local function write_list(out, table)
  local last, count = 0, 0
  for key in next, table do
    if kind_of(key) ~= "integer" or key < 1 then refuse(out, "a list has the key " .. tostring(key)) end
    count = count + 1
    if key > last then last = key end
  end
  if last > 2 * count + MAX_HOLES then refuse(out, "a list of " .. count .. " items ends at place " .. last) end
  put(out, "[")
  for index = 1, last do
    if index > 1 then put(out, ",") end
    local value = rawget(table, index)
    if value == nil then put(out, "null") else write_item(out, index, value) end
  end
  put(out, "]")
end

local function keys_of(out, table)
  local known, count, total = {}, 0, 0
  for _, key in next, shapes[table] or {} do
    if rawget(table, key) ~= nil then
      count = count + 1
      known[count] = key
    end
  end
  for key in next, table do
    if type(key) ~= "string" then refuse(out, "an object has a key that is a " .. type(key)) end
    total = total + 1
  end
  if total == count then return known end
  local is_known, others = {}, {}
  for _, key in next, known do is_known[key] = true end
  for key in next, table do
    if not is_known[key] then others[#others + 1] = key end
  end
  sort(others)
  for index, key in next, others do known[count + index] = key end
  return known
end

local function write_object(out, table)
  put(out, "{")
  local keys = keys_of(out, table)
  for index = 1, #keys do
    local key = keys[index]
    put(out, (index > 1 and "," or "") .. quoted(out, key) .. ":")
    write_item(out, key, rawget(table, key))
  end
  put(out, "}")
end

local function write_table(out, table)
  table = shown[table] or table
  if table == null then return put(out, "null") end
  if out.open[table] then refuse(out, "a table contains itself") end
  if out.depth >= MAX_DEPTH then refuse(out, "nested deeper than " .. MAX_DEPTH .. " levels") end
  out.open[table] = true
  out.depth = out.depth + 1
  -- The path ends here until an item is written.
  out.path[out.depth] = nil
  local key = next(table)
  if key == nil then
    put(out, shapes[table] == false and "[]" or "{}")
  elseif kind_of(key) then
    write_list(out, table)
  else
    write_object(out, table)
  end
  out.depth = out.depth - 1
  out.open[table] = nil
end

function write(out, value)
  local kind = type(value)
  if kind == "string" then
    put(out, quoted(out, value))
  elseif kind == "table" then
    write_table(out, value)
  elseif kind == "number" then
    put(out, number(out, value))
  elseif kind == "boolean" then
    put(out, value and "true" or "false")
  else
    refuse(out, kind == "nil" and "is nil; write null" or "a " .. kind .. " cannot be written as JSON")
  end
end

-- `name` begins the path in an error.
local function encode(value, name)
  local out = { count = 0, size = 0, depth = 0, path = {}, open = {}, name = name }
  write(out, value)
  return concat(out, "", 1, out.count)
end

-- Order --------------------------------------------------------------------------------------------------------------

-- The keys of a table in an order that is the same in every process: those that were decoded, then numbers, then texts.
local function ordered_keys(table)
  local known, is_known, numbers, texts, others = {}, {}, {}, {}, {}
  for _, key in next, shapes[table] or {} do
    if rawget(table, key) ~= nil then
      known[#known + 1] = key
      is_known[key] = true
    end
  end
  for key in next, table do
    local kind = type(key)
    if is_known[key] == nil then
      local group = kind == "number" and numbers or kind == "string" and texts or others
      group[#group + 1] = key
    end
  end
  sort(numbers)
  sort(texts)
  for _, group in next, { numbers, texts, others } do
    for index = 1, #group do known[#known + 1] = group[index] end
  end
  return known
end

return {
  decode = decode, encode = encode, list = list, null = null, shown = shown, ordered_keys = ordered_keys,
  cut = cut, clean = clean,
}
