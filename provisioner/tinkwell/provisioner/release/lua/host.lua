-- What scripts print, and YAML. It is given a function of ours that reads and writes YAML, which no script ever sees.

local yaml = ...

local MAX_LINES = 1000

local lines, warnings, is_full = {}, {}, false
local host = {}

function host.line(text)
  if #lines < MAX_LINES then
    lines[#lines + 1] = text
  elseif not is_full then
    is_full = true
    host.warning("more than " .. MAX_LINES .. " lines were printed; the rest is left out")
  end
end

function host.warning(text)
  if #warnings < MAX_LINES then warnings[#warnings + 1] = text end
end

-- Return what has come since the last time.
function host.take()
  local found, warned = lines, warnings
  lines, warnings, is_full = {}, {}, false
  return found, warned
end

-- Return whether a text is YAML, and the value as JSON, or what is wrong.
function host.yaml_decode(text)
  return yaml("decode", text)
end

-- Write the value of a JSON text as YAML.
function host.yaml_encode(text)
  local _, found = yaml("encode", text)
  return found
end

return host
