-- Taking back what the agent did, a turn or one edit, and doing it again. The daemon does it, by what it has kept; text of the user stays.

local client = require('copydesk.client')
local log = require('copydesk.log')
local render = require('copydesk.render')

local M = {}

local METHOD = '_copydesk/undo'

--- Outcomes that left something undone.
local troubles = { conflict = true, unavailable = true, failed = true }

--- One after the other: a second one that is sent in impatience would take back another turn.
local running = false

---@alias copydesk.UndoWhat 'last'|'redo'|{ turn: string }|{ call: string }

---@class copydesk.UndoResult
---@field title string
---@field files { uri: string, outcome: string }[]
---@field text string All of it in words.

--- What came of it, on one line where nothing stands in the way: more would have to be confirmed.
---@param what copydesk.UndoWhat
---@param result copydesk.UndoResult
---@return string text
---@return integer level
local function report(what, result)
  local files = {}
  for _, file in ipairs(result.files or {}) do
    if troubles[file.outcome] then
      return result.text, vim.log.levels.WARN
    end
    files[#files + 1] = ('%s %s'):format(render.short(vim.uri_to_fname(file.uri)), file.outcome)
  end
  if #files == 0 then
    return result.text, vim.log.levels.INFO
  end
  local head = ('%s: "%s": '):format(what == 'redo' and 'done again' or 'taken back', result.title)
  local all = table.concat(files, ', ')
  -- The rest of the line is the plugin's name, and what the last columns show.
  local fits = vim.fn.strdisplaywidth(head .. all) < vim.o.columns - 30
  return head .. (fits and all or ('%d files'):format(#files)), vim.log.levels.INFO
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
        log.tell(report(what, result))
      end
    end)
  end)
end

return M
