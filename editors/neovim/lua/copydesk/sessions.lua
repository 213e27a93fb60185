-- The conversations that the daemon has stored for this folder: a list to pick one from, to be shown and gone on with.

local client = require('copydesk.client')
local log = require('copydesk.log')
local session = require('copydesk.session')

local M = {}

---@class copydesk.Stored ACP's `SessionInfo`.
---@field sessionId string
---@field title? string
---@field updatedAt? string RFC 3339, UTC.

local MORE = 'Older ones …'

--- `2026-11-30T14:32:53Z` as the user's clock would have it.
---@param time string
---@return string
local function moment(time)
  local year, month, day, hour, minute, second = time:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not year then
    return time
  end
  local utc = { year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false }
  local here = os.time(utc)
  -- `os.time` takes the fields for local ones.
  local offset = os.time(os.date('*t', here) --[[@as osdateparam]])
    - os.time(os.date('!*t', here) --[[@as osdateparam]])
  return os.date('%Y-%m-%d %H:%M', here + offset) --[[@as string]]
end

---@param stored copydesk.Stored
---@return string
local function row_of(stored)
  local mark = stored.sessionId == session.id() and '* ' or '  '
  local title = stored.title and stored.title ~= '' and stored.title or stored.sessionId
  return ('%s%s  %s'):format(mark, stored.updatedAt and moment(stored.updatedAt) or '', (title:gsub('%s+', ' ')))
end

---@param cursor string?
local function list(cursor)
  client.request('session/list', { cwd = client.root(), cursor = cursor }, function(err, result)
    if err then
      log.tell('no list of conversations: ' .. client.explain(err, 'session/list'), vim.log.levels.ERROR)
      return
    end
    local rows = vim.list_slice(result.sessions or {})
    if #rows == 0 then
      log.tell('no conversation is stored for ' .. client.root())
      return
    end
    if result.nextCursor then
      rows[#rows + 1] = MORE
    end
    vim.ui.select(rows, {
      prompt = 'Copydesk conversations',
      kind = 'copydesk_sessions',
      format_item = function(row)
        return row == MORE and MORE or row_of(row)
      end,
    }, function(row)
      if row == MORE then
        list(result.nextCursor)
      elseif row then
        require('copydesk.chat').open(true)
        session.load(row.sessionId)
      end
    end)
  end)
end

--- Lists what is stored; what the user picks is gone on with.
function M.open()
  client.ensure(function(_, problem)
    if not problem then
      list(nil)
    end
  end)
end

return M
