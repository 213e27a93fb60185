-- What was allowed for longer than once, as it holds in the conversation: a list to read, and to take back from. The daemon keeps it.

local client = require('copydesk.client')
local log = require('copydesk.log')

local M = {}

---@class copydesk.Grant `GrantView` of the protocol.
---@field id string
---@field scope 'session'|'project'|'user'
---@field text string All that it covers.

local scopes = { session = 'in this session', project = 'in this project', user = 'everywhere' }

---@param session string
---@param revoke string[]
---@param done fun(result: { grants: copydesk.Grant[], revoked: integer, problem: string? })
local function request(session, revoke, done)
  local params = { sessionId = session, revoke = #revoke > 0 and revoke or nil }
  client.request('_copydesk/grants', params, function(err, result)
    if err then
      log.tell('the permissions could not be had: ' .. err.message, vim.log.levels.ERROR)
      return
    end
    if result.problem then
      log.tell(result.problem, vim.log.levels.WARN)
    end
    done(result)
  end)
end

---@param session string
---@param grant copydesk.Grant
local function take_back(session, grant)
  local yes, no = 'Take it back', 'Keep it'
  vim.ui.select({ yes, no }, {
    prompt = ('Allowed %s: %s'):format(scopes[grant.scope] or grant.scope, grant.text),
    kind = 'copydesk_grant',
  }, function(choice)
    if choice ~= yes then
      return
    end
    request(session, { grant.id }, function(result)
      local text = result.revoked > 0 and 'taken back: ' or 'it was taken back already: '
      log.tell(text .. grant.text)
    end)
  end)
end

--- Lists what is allowed; what the user picks can be taken back.
function M.open()
  require('copydesk.session').ensure(function(session, problem)
    if not session then
      if client.status() == 'ready' then
        log.tell(problem or 'no session', vim.log.levels.ERROR)
      end
      return
    end
    request(session, {}, function(result)
      if #result.grants == 0 then
        log.tell('nothing is allowed for longer than once')
        return
      end
      vim.ui.select(result.grants, {
        prompt = 'Copydesk may',
        kind = 'copydesk_grants',
        format_item = function(grant)
          return ('%s: %s'):format(scopes[grant.scope] or grant.scope, grant.text)
        end,
      }, function(grant)
        if grant then
          take_back(session, grant)
        end
      end)
    end)
  end)
end

return M
