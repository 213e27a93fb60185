-- What can be chosen for the conversation: mode, model and mode of permission, as the daemon offers them and as they stand.

local client = require('copydesk.client')
local log = require('copydesk.log')

local M = {}

--- For messages.
local names = { mode = 'mode', model = 'model', permission = 'permission mode' }

local state = {
  ---@type table?
  modes = nil,
  ---@type table[]
  options = {},
}

--- Of a session that has been opened.
---@param result { modes: table?, configOptions: table[]? }
function M.set(result)
  state.modes = result.modes
  state.options = result.configOptions or {}
end

function M.clear()
  M.set({})
end

---@param options table[]?
function M.set_options(options)
  state.options = options or state.options
end

---@param kind copydesk.Kind
---@return table? option ACP's config option.
local function config_option(kind)
  for _, option in ipairs(state.options) do
    if option.category == kind or option.id == kind then
      return option
    end
  end
end

---@alias copydesk.Kind 'mode'|'model'|'permission'

---@class copydesk.Choice
---@field value string
---@field name string

---@param kind copydesk.Kind
---@return copydesk.Choice[] choices
---@return string? current
local function offered(kind)
  local found = {}
  local option = config_option(kind)
  if option then
    for _, entry in ipairs(option.options or {}) do
      for _, choice in ipairs(entry.options or { entry }) do
        found[#found + 1] = { value = choice.value, name = choice.name or choice.value }
      end
    end
    return found, option.currentValue
  end
  if kind == 'mode' and state.modes then
    for _, mode in ipairs(state.modes.availableModes or {}) do
      found[#found + 1] = { value = mode.id, name = mode.name or mode.id }
    end
    return found, state.modes.currentModeId
  end
  return found, nil
end

--- The value in force.
---@param kind copydesk.Kind
---@return string?
function M.chosen(kind)
  local _, current = offered(kind)
  return current
end

--- For the command line: the values that begin so.
---@param kind copydesk.Kind
---@param lead string
---@return string[]
function M.complete(kind, lead)
  local found = {}
  for _, choice in ipairs((offered(kind))) do
    if vim.startswith(choice.value, lead) then
      found[#found + 1] = choice.value
    end
  end
  return found
end

---@param session string
---@param kind copydesk.Kind
---@param value string
local function choose(session, kind, value)
  local option = config_option(kind)
  local method = option and 'session/set_config_option' or 'session/set_mode'
  local params = option and { sessionId = session, configId = option.id, value = value }
    or { sessionId = session, modeId = value }
  client.request(method, params, function(err, result)
    if err then
      log.tell(('the %s was not changed: %s'):format(names[kind], err.message), vim.log.levels.ERROR)
      return
    end
    if option then
      state.options = result and result.configOptions or state.options
    elseif state.modes then
      state.modes.currentModeId = value
    end
    require('copydesk.session').changed()
  end)
end

--- Sets the mode, the model or the mode of permission; without a value the user picks one.
---@param kind copydesk.Kind
---@param value? string
function M.choose(kind, value)
  require('copydesk.session').ensure(function(session, problem)
    if not session then
      -- Said already, where the daemon could not be had.
      if client.status() == 'ready' then
        log.tell(problem or 'no session', vim.log.levels.ERROR)
      end
      return
    end
    local found, current = offered(kind)
    if value and value ~= '' then
      choose(session, kind, value)
      return
    end
    if #found == 0 then
      log.tell(('the daemon offers no %s to choose'):format(names[kind]), vim.log.levels.WARN)
      return
    end
    vim.ui.select(found, {
      prompt = ('Copydesk %s'):format(names[kind]),
      kind = 'copydesk_' .. kind,
      format_item = function(choice)
        return (choice.value == current and '* ' or '  ') .. choice.name
      end,
    }, function(choice)
      if choice then
        choose(session, kind, choice.value)
      end
    end)
  end)
end

---@param mode string
function M.set_mode(mode)
  if state.modes then
    state.modes.currentModeId = mode
  end
  local option = config_option('mode')
  if option then
    option.currentValue = mode
  end
end

return M
