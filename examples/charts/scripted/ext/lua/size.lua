-- Values follow from the size, unless they are given.

local WORKERS = { small = 2, medium = 4, large = 16 }

local function choose(name, namespace, chart, values)
  local workers = WORKERS[values.size]
  if workers == nil then
    fail("size " .. tostring(values.size) .. " is none; write small, medium or large")
  end
  if values.workers == nil or values.workers == null then
    values.workers = workers
  end
end

local function trim(name, namespace, chart, values, manifest, context)
  if values.size ~= "large" then
    print(name .. " is " .. values.size .. ": it has no monitor")
    context.objects.monitor = nil
  end
end

function init(events)
  events.on("pre-render", 0.5, choose)
  events.on("post-render", 0.5, trim)
end
