-- Loads the scripts of charts and calls their handlers. It is given the codec, the guard, the maker of environments and
-- what is printed, and returns the functions that the child calls. All of them take and give JSON.

local codec, guard, environment, host = ...

local MAX_HANDLERS = 1000
local MAX_NAME = 200
-- Of the keys that a handler has put into its context, so many are told.
local MAX_UNKNOWN = 100
local load, error, next, pcall, rawequal, rawget, rawset = load, error, next, pcall, rawequal, rawget, rawset
local type, tonumber, tostring, getinfo, kind_of, utf8_len = type, tonumber, tostring, debug.getinfo, math.type, utf8.len
local find, match, gsub = string.find, string.match, string.gsub
local sources = guard.sources
-- Texts of scripts that are no UTF-8 cannot be told.
local clean = codec.clean

-- By paths: {path, env, files, loaded, init}.
local charts = {}
-- By ordinals: {run, chart}.
local handlers = {}
-- What `events` was told, in order.
local told = {}
local is_registering = false

local function finish(fault, found)
  local lines, warnings = host.take()
  for _, texts in next, { lines, warnings } do
    for index = 1, #texts do texts[index] = clean(texts[index]) end
  end
  if fault then fault.message, fault.traceback = clean(fault.message), clean(fault.traceback) end
  found = found or {}
  found.fault, found.lines, found.warnings = fault, codec.list(lines), codec.list(warnings)
  return codec.encode(found, "the answer")
end

-- Files --------------------------------------------------------------------------------------------------------------

local function run_file(chart, file)
  local known = chart.loaded[file]
  if known then
    if known.is_loading then error(file .. " requires itself, by way of others", 0) end
    return known.value
  end
  local name = "@" .. chart.path .. "/" .. file
  sources[name] = { chart = chart.path, file = file }
  local chunk, reason = load(chart.files[file], name, "t", chart.env)
  if not chunk then
    -- A text that nests too deeply for the compiler is told by way of the guard.
    if type(reason) == "table" then reason = reason.message end
    local line, rest = match(reason, "^.-:(%d+): (.*)$")
    guard.raise(rest or reason, { chart = chart.path, file = file, line = line and tonumber(line) or 0 })
  end
  local state = { is_loading = true }
  chart.loaded[file] = state
  local value = chunk()
  state.is_loading, state.value = false, value == nil and true or value
  return state.value
end

local function require_in(chart)
  return function(name)
    if type(name) ~= "string" then error("require takes the name of a file in ext/lua", 2) end
    local file = "ext/lua/" .. gsub(name, "%.", "/") .. ".lua"
    if not rawget(chart.files, file) then
      -- Shown as it was given: what is made of a secret would not be known as one.
      local shown = find(name, ".", 1, true) and name or file
      error("there is no " .. shown .. " in this chart; require finds files of its ext/lua only", 2)
    end
    local ok, value = pcall(run_file, chart, file)
    if ok then return value end
    if type(value) == "table" and guard.raised_faults[value] then
      error(value.file .. ":" .. value.line .. ": " .. value.message, 2)
    end
    error(value, 0)
  end
end

-- Registration -------------------------------------------------------------------------------------------------------

local function note(entry, chart, place)
  if not is_registering then error("handlers are registered and switched off in init alone", 3) end
  if #told >= MAX_HANDLERS then error("there are more than " .. MAX_HANDLERS .. " handlers", 3) end
  place = place or { chart = chart.path, file = "", line = 0 }
  entry.origin, entry.called_chart, entry.called_file, entry.called_line = chart.path, place.chart, place.file, place.line
  told[#told + 1] = entry
end

local function is_name(name)
  return type(name) == "string" and #name <= MAX_NAME and utf8_len(name)
end

local function events_of(chart)
  local events = {}
  function events.on(name, weight, run)
    if not is_name(name) then error("events.on takes the name of an event first", 2) end
    if kind_of(weight) == nil or weight ~= weight or weight < 0 or weight > 1 then
      local given = kind_of(weight) and tostring(weight) or "a " .. type(weight)
      error("events.on takes a weight from 0 to 1 after the name of the event, and not " .. given, 2)
    end
    if type(run) ~= "function" then error("events.on takes a function after the weight", 2) end
    local info = getinfo(run, "S")
    local source = sources[info.source]
    local called = guard.place_at(2)
    note({
      kind = "on", event = name, weight = weight, ordinal = #handlers + 1,
      file = source and source.file or called and called.file or "",
      line = source and info.linedefined or called and called.line or 0,
    }, chart, called)
    handlers[#handlers + 1] = { run = run, chart = chart }
  end
  function events.off(name, subchart)
    if not is_name(name) then error("events.off takes the name of an event first", 2) end
    if subchart ~= nil and not is_name(subchart) then error("events.off takes the name of a subchart second", 2) end
    note({ kind = "off", event = name, subchart = subchart or "" }, chart, guard.place_at(2))
  end
  return environment.freeze(events, "events")
end

-- A chart's init runs once, whoever calls it first, and registers for its own chart.
local function init_once(chart)
  local init = rawget(chart.env, "init")
  if type(init) ~= "function" then return end
  local is_done = false
  chart.init = function()
    if is_done then return end
    is_done = true
    init(events_of(chart))
  end
  chart.env.init = function() chart.init() end
end

local function chart_at(path)
  if charts[path] then return charts[path] end
  local chart = { path = path, env = environment.make(), files = {}, loaded = {} }
  charts[path] = chart
  chart.env.require = require_in(chart)
  local above, name = match(path, "^(.*)%.([^.]+)$")
  if above then chart_at(above).env.subcharts[name] = chart.env end
  return chart
end

-- Calls --------------------------------------------------------------------------------------------------------------

local calls = {}

-- Take the files of all charts: [[path, {file: text}], …]. Nothing runs yet.
function calls.take(text)
  for _, given in next, codec.decode(text) do
    chart_at(given[1]).files = given[2]
  end
  return finish()
end

function calls.run_file(path, file)
  local function run() run_file(charts[path], file) end
  return finish(guard.call(run))
end

-- All files have run; from here on `init` of each chart may be called.
function calls.begin_init()
  for _, chart in next, charts do init_once(chart) end
  is_registering = true
  return finish()
end

function calls.init(path)
  local chart = charts[path]
  return finish(chart.init and guard.call(chart.init))
end

function calls.end_init()
  is_registering = false
  return finish(nil, { told = codec.list(told) })
end

local DOCUMENTS = { "values", "manifest" }
local PARTS = { "state", "templates", "config" }

local function decode(text)
  if text then return codec.decode(text) end
end

-- Compare what a document is now with what it was, and note it where it differs.
local function note_change(changed, part, name, value, before)
  if value == nil and before == nil then return end
  local text = value == nil and "null" or codec.encode(value, name)
  if text ~= before then changed[part] = text end
end

-- Say what a handler has changed: `kept` is what the context had that cannot be replaced.
local function changes(documents, context, kept, given)
  local changed, unknown = {}, {}
  for _, name in next, DOCUMENTS do note_change(changed, name, name, documents[name], given[name]) end
  local is_known = { release = true, objects = true, files = true }
  for _, name in next, PARTS do
    is_known[name] = true
    note_change(changed, name, "context." .. name, rawget(context, name), given[name])
  end
  for _, part in next, { "release", "files" } do
    if not rawequal(rawget(context, part), kept[part]) then unknown[#unknown + 1] = "context." .. part end
  end
  for _, key in next, codec.ordered_keys(context) do
    if #unknown >= MAX_UNKNOWN then
      unknown[#unknown + 1] = "further keys of context"
      break
    elseif type(key) ~= "string" then
      unknown[#unknown + 1] = "a key of context that is no text"
    elseif not is_known[key] then
      unknown[#unknown + 1] = clean(codec.cut("context." .. key, MAX_NAME))
    end
  end
  return { changed = changed, unknown = codec.list(unknown) }
end

-- Call a handler. `given` has the JSON texts of chart, values, manifest, release and the parts of the context.
function calls.call(ordinal, name, namespace, texts)
  local handler = handlers[ordinal]
  local given = codec.decode(texts)
  local documents = { values = decode(given.values), manifest = decode(given.manifest) }
  local kept = {
    release = environment.freeze(codec.decode(given.release), "release"),
    files = given.files and environment.files_of(codec.decode(given.files)),
  }
  local context = { release = kept.release, files = kept.files }
  for _, part in next, PARTS do context[part] = decode(given[part]) end
  local objects = documents.manifest and documents.manifest.resources
  context.objects = objects
  local chart = environment.freeze(codec.decode(given.chart), "chart")
  local values, manifest = documents.values, documents.manifest
  local fault = guard.call(handler.run, name, namespace, chart, values, manifest, context)
  if fault then return finish(fault) end
  if manifest and not rawequal(rawget(context, "objects"), objects) then
    rawset(manifest, "resources", rawget(context, "objects"))
  end
  local ok, found = pcall(changes, documents, context, kept, given)
  if ok then return finish(nil, found) end
  return finish(guard.fault_of_error(found))
end

return calls
