-- Taking back what the agent did, a turn or one edit, and doing it again. The daemon does it, by what it has kept; text of the user stays.

local client = require('copydesk.client')
local log = require('copydesk.log')

local M = {}

local METHOD = '_copydesk/undo'

--- Outcomes that left something undone.
local troubles = { conflict = true, unavailable = true, failed = true }

--- One after the other: a second one that is sent in impatience would take back another turn.
local running = false

---@alias copydesk.UndoWhat 'last'|'redo'|{ turn: string }|{ call: string }

---@param result { files: { outcome: string }[], text: string }
---@return integer
local function level_of(result)
  for _, file in ipairs(result.files or {}) do
    if troubles[file.outcome] then
      return vim.log.levels.WARN
    end
  end
  return vim.log.levels.INFO
end

---@param what copydesk.UndoWhat
function M.run(what)
  if running then
    log.tell('it is being done already')
    return
  end
  running = true
  require('copydesk.session').latest(function(session, problem)
    if not session then
      running = false
      log.tell(problem or 'there is nothing to take back yet; :CopydeskSessions goes on with an earlier conversation')
      return
    end
    client.request(METHOD, { sessionId = session, what = what }, function(err, result)
      running = false
      if err then
        log.tell('nothing was changed: ' .. client.explain(err, METHOD), vim.log.levels.ERROR)
      else
        log.tell(result.text, level_of(result))
      end
    end)
  end)
end

return M
