-- `:checkhealth copydesk`.

local M = {}

--- Milliseconds that the daemon has to answer.
local LIMIT = 10000

---@param program string
---@return boolean
local function check_program(program)
  local path = vim.fn.exepath(program)
  if path == '' then
    vim.health.error(('`%s` was not found'):format(program), {
      'Install Copydesk and put it into $PATH,',
      "or name it: require('copydesk').setup({ cmd = { '/path/to/copydesk', 'serve' } })",
    })
    return false
  end
  local ran, process = pcall(vim.system, { path, '--version' }, { text = true })
  local result = ran and process:wait(LIMIT) or nil
  if result and result.code == 0 then
    vim.health.ok(('%s: %s'):format(path, vim.trim(result.stdout)))
  else
    vim.health.warn(('%s does not tell its version'):format(path))
  end
  return true
end

local function check_daemon()
  local client = require('copydesk.client')
  local ran_before = client.status() ~= 'stopped'
  local done, problem = false, nil
  client.ensure(function(_, err)
    done, problem = true, err
  end)
  vim.wait(LIMIT, function()
    return done
  end, 10)
  local offer = client.offer()
  if problem or not offer then
    vim.health.error(problem or 'the daemon did not answer', { 'See :CopydeskLog.' })
    return
  end
  local info = offer.agentInfo or {}
  vim.health.ok(
    ('the daemon answers: %s %s, protocol %d'):format(info.name or 'copydesk', info.version or '?', offer.protocol)
  )
  local missing = vim.tbl_filter(function(method)
    return not vim.list_contains(offer.methods or {}, method)
  end, { '_copydesk/changes', '_copydesk/diff', '_copydesk/undo' })
  if #missing > 0 then
    vim.health.warn('the daemon is older than this plugin and lacks ' .. table.concat(missing, ', '))
  end
  vim.health.info('workspace: ' .. (client.root() or '?'))
  if not ran_before then
    client.stop()
  end
end

function M.check()
  vim.health.start('Neovim')
  if vim.fn.has('nvim-0.11') == 1 then
    vim.health.ok('version ' .. tostring(vim.version()))
  else
    vim.health.error('version ' .. tostring(vim.version()) .. ' is too old', { 'Copydesk needs Neovim 0.11 or newer.' })
  end
  if pcall(vim.treesitter.language.inspect, 'markdown') then
    vim.health.ok('the parser of Markdown is there')
  else
    vim.health.warn('no parser of Markdown: the conversation is shown without highlighting')
  end

  vim.health.start('Options')
  local config = require('copydesk.config')
  local problems = config.problems()
  for _, problem in ipairs(problems) do
    vim.health.error(problem, { 'See :help copydesk-options.' })
  end
  if #problems == 0 then
    vim.health.ok('the options are right')
  end

  vim.health.start('Daemon')
  if check_program(config.get().cmd[1]) then
    check_daemon()
  end
  vim.health.info('log: ' .. require('copydesk.log').path())
end

return M
